//! Dates of HTTP headers: `Fri, 26 Jun 2015 23:39:12 GMT`.

use std::time::{SystemTime, UNIX_EPOCH};

const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// A time as HTTP headers have it, in whole seconds.
pub fn http_date(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    let (name, month) = (DAYS[(days % 7) as usize], MONTHS[month]);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{name}, {day:02} {month} {year:04} {hour:02}:{minute:02}:{second:02} GMT")
}

/// A time in the form of [`http_date`]; none if it has another form.
pub fn parse_http_date(text: &str) -> Option<SystemTime> {
    let (_, date) = text.trim().split_once(", ")?;
    let words: Vec<&str> = date.split(' ').collect();
    let [day, month, year, time, "GMT"] = words[..] else { return None };
    let month = MONTHS.iter().position(|name| *name == month)?;
    let year: u64 = year.parse().ok().filter(|year| (1970..10_000).contains(year))?;
    let day: u64 = day.parse().ok().filter(|day| (1..=31).contains(day))?;
    let parts: Option<Vec<u64>> = time.split(':').map(|part| part.parse().ok()).collect();
    let [hour, minute, second] = parts?[..] else { return None };
    // A lower bound. The search adds leap days and the days of longer months.
    let mut days = (year - 1970) * 365 + month as u64 * 28;
    while civil(days) != (year, month, day) {
        days += 1;
        if civil(days).0 > year {
            return None;
        }
    }
    let seconds = days * 86_400 + hour.min(23) * 3600 + minute.min(59) * 60 + second.min(60);
    Some(UNIX_EPOCH + std::time::Duration::from_secs(seconds))
}

/// Year, month from 0 and day from 1 of a number of days since 1970.
fn civil(days: u64) -> (u64, usize, u64) {
    let (mut year, mut left) = (1970, days);
    let is_leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    // Periods of 400 years have the same number of days.
    year += left / 146_097 * 400;
    left %= 146_097;
    loop {
        let length = if is_leap(year) { 366 } else { 365 };
        if left < length {
            break;
        }
        left -= length;
        year += 1;
    }
    let february = if is_leap(year) { 29 } else { 28 };
    for (month, length) in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31].into_iter().enumerate() {
        if left < length {
            return (year, month, left + 1);
        }
        left -= length;
    }
    unreachable!("because the days of a year are within its months")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn dates_are_those_of_http() {
        let at = |seconds| http_date(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "Thu, 01 Jan 1970 00:00:00 GMT");
        // The example of RFC 9110.
        assert_eq!(at(784_111_777), "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(at(1_435_361_952), "Fri, 26 Jun 2015 23:39:12 GMT");
        assert_eq!(at(1_709_251_199), "Thu, 29 Feb 2024 23:59:59 GMT");
        assert_eq!(at(4_107_542_400), "Mon, 01 Mar 2100 00:00:00 GMT");
        for seconds in [0, 784_111_777, 1_435_361_952, 1_709_251_199, 4_107_542_400] {
            assert_eq!(parse_http_date(&at(seconds)), Some(UNIX_EPOCH + Duration::from_secs(seconds)));
        }
        for wrong in
            ["", "now", "Sun, 31 Feb 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49 GMT", "Sun, 06 Nov 94 08:49:37 GMT"]
        {
            assert_eq!(parse_http_date(wrong), None, "{wrong}");
        }
    }
}
