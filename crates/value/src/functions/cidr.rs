//! The functions on IP network prefixes: `cidrcontains`, `cidrhost`, `cidrnetmask`, `cidrsubnet`, `cidrsubnets`.

use core::net::{Ipv4Addr, Ipv6Addr};
use std::fmt;

use dashu_int::{IBig, UBig};
use ecow::{EcoString, eco_format};

use crate::function::{Function, FunctionError, Param, Result};
use crate::{Number, Type, Value};

/// This family's rows of the table.
pub(crate) fn functions() -> Vec<Function> {
    let prefix = || Param::new("prefix", Type::string(), "An IP network prefix in CIDR notation, like `10.0.0.0/8`.");
    let number = |name, description| Param::new(name, Type::number(), description);
    vec![
        Function::new(
            "cidrcontains",
            "Returns whether a network prefix contains an IP address or another prefix.",
            [
                Param::new("containing_prefix", Type::string(), "The prefix that should contain the other one."),
                Param::new("contained_ip_or_prefix", Type::string(), "The address or prefix to test."),
            ],
            Type::bool(),
            |args, _| contains(text(args, 0), text(args, 1)),
        )
        .nullable(),
        Function::new(
            "cidrhost",
            "Returns the address of the host with a given number within a network prefix.",
            [prefix(), number("hostnum", "The number of the host; negative numbers count from the end.")],
            Type::string(),
            |args, _| {
                let number = big_argument(&args[1])?;
                let network = network(text(args, 0))?;
                Ok(Value::string(network.host(number)?.to_string()))
            },
        ),
        Function::new(
            "cidrnetmask",
            "Returns the netmask of an IPv4 network prefix in dotted decimal notation.",
            [prefix()],
            Type::string(),
            |args, _| netmask(text(args, 0)),
        ),
        Function::new(
            "cidrsubnet",
            "Returns the subnet with a given number within a network prefix.",
            [
                prefix(),
                number("newbits", "The number of bits to extend the prefix by."),
                number("netnum", "The number of the subnet, written into the new bits."),
            ],
            Type::string(),
            |args, _| {
                let new_bits = int_argument(&args[1]).map_err(FunctionError::new)?;
                let number = big_argument(&args[2])?;
                let network = network(text(args, 0))?;
                Ok(Value::string(network.subnet(new_bits, number)?))
            },
        ),
        Function::new(
            "cidrsubnets",
            "Returns consecutive subnets of possibly different sizes within a network prefix.",
            [prefix()],
            Type::list(Type::string()),
            |args, _| subnets(text(args, 0), &args[1..]),
        )
        .variadic(number("newbits", "The number of bits by which each subnet extends the prefix.")),
    ]
}

fn text(args: &[Value], index: usize) -> &str {
    args.get(index).and_then(Value::as_str).map_or("", EcoString::as_str)
}

/// A whole number that fits a machine integer.
pub(crate) fn int_argument(value: &Value) -> std::result::Result<i64, EcoString> {
    value
        .as_number()
        .and_then(Number::to_i64)
        .ok_or_else(|| eco_format!("value must be a whole number, between {} and {}", i64::MIN, i64::MAX))
}

fn big_argument(value: &Value) -> Result<IBig> {
    let number = value.as_number().ok_or_else(|| FunctionError::new("value must be a number"))?;
    if let Some(small) = number.to_i64() {
        return Ok(IBig::from(small));
    }
    // No address is that long; a number like 1e100000 is not spelled out only to be refused.
    if number.to_f64().abs() > 2f64.powi(140) {
        return Err(FunctionError::new("number is too large for an IP address"));
    }
    number.to_string().parse().map_err(|_| FunctionError::new("value must be a whole number"))
}

/// An address of 4 or 16 bytes, as a number.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Ip {
    bits: u128,
    /// 32 or 128.
    width: u32,
}

/// A network prefix. Bits of the address after the prefix are zero, except in some results of odd arguments.
#[derive(Clone, Copy)]
struct Network {
    ip: Ip,
    prefix: u32,
}

impl Ip {
    /// The IPv4 address, also out of an IPv4-mapped IPv6 address.
    fn to_v4(self) -> Option<Ip> {
        match self.width {
            32 => Some(self),
            _ if self.bits >> 32 == 0xffff => Some(Ip { bits: self.bits & 0xffff_ffff, width: 32 }),
            _ => None,
        }
    }
    fn masked(self, prefix: u32) -> Ip {
        Ip { bits: self.bits & mask(prefix, self.width), ..self }
    }
    fn from_big(bits: &IBig, width: u32) -> Result<Ip> {
        // Quirk: a negative number is written by its magnitude.
        let magnitude = if *bits < IBig::ZERO { -bits.clone() } else { bits.clone() };
        let magnitude = u128::try_from(&magnitude).ok().filter(|m| width == 128 || m >> 32 == 0);
        let bits = magnitude.ok_or_else(|| FunctionError::new("the result does not fit an IP address"))?;
        Ok(Ip { bits, width })
    }
}

fn mask(prefix: u32, width: u32) -> u128 {
    let all = if width == 32 { u128::from(u32::MAX) } else { u128::MAX };
    let tail = u128::MAX.checked_shl(width - prefix.min(width)).unwrap_or(0);
    all & tail
}

impl fmt::Display for Ip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to_v4() {
            Some(v4) => Ipv4Addr::from(v4.bits as u32).fmt(f),
            None => Ipv6Addr::from(self.bits).fmt(f),
        }
    }
}

impl Network {
    /// Address and prefix length as they are shown and compared: an IPv4-mapped prefix counts as IPv4.
    fn canonical(self) -> (Ip, u32) {
        match self.ip.to_v4() {
            Some(v4) if self.ip.width == 128 => (v4, self.prefix.saturating_sub(96)),
            _ => (self.ip, self.prefix),
        }
    }
    fn contains(self, ip: Ip) -> bool {
        let (net, prefix) = self.canonical();
        let ip = ip.to_v4().unwrap_or(ip);
        ip.width == net.width && ip.masked(prefix) == net.masked(prefix)
    }
    fn last(self) -> Ip {
        Ip { bits: self.ip.bits | (mask(self.ip.width, self.ip.width) & !mask(self.prefix, self.ip.width)), ..self.ip }
    }
    /// The network of a given prefix length that follows this one; none after the end of the address space.
    fn next(self, prefix: u32) -> Option<Network> {
        let width = self.ip.width;
        let last = Network { ip: self.last().masked(prefix), prefix }.last();
        let next = last.bits.checked_add(1).filter(|bits| width == 128 || bits >> 32 == 0)?;
        Some(Network { ip: Ip { bits: next, width }.masked(prefix), prefix })
    }

    fn host(self, number: IBig) -> Result<Ip> {
        let Ip { bits, width } = self.ip;
        let most: IBig = (IBig::ONE << (width - self.prefix) as usize) - IBig::ONE;
        let too_large = |number: &IBig| {
            FunctionError::new(eco_format!("prefix of {} does not accommodate a host numbered {number}", self.prefix))
        };
        let (number, distance) = if number < IBig::ZERO {
            let distance: IBig = -number - IBig::ONE;
            (&most - &distance, distance)
        } else {
            // Quirk: the range check looks at the lower 64 bits, taken as a signed number.
            let distance = IBig::from(low_64(&number) as i64);
            (number, distance)
        };
        if distance > most {
            return Err(too_large(&number));
        }
        // Quirk: in an IPv4-mapped prefix the number is put where the whole address would be.
        let shift = if width == 128 && self.ip.to_v4().is_some() { 96 } else { 0 };
        Ip::from_big(&(IBig::from(bits) | (number << shift)), width)
    }

    fn subnet(self, new_bits: i64, number: IBig) -> Result<EcoString> {
        let Ip { bits, width } = self.ip;
        let prefix = i64::from(self.prefix).wrapping_add(new_bits);
        if prefix > i64::from(width) {
            return Err(FunctionError::new(eco_format!(
                "insufficient address space to extend prefix of {} by {new_bits}",
                self.prefix
            )));
        }
        let most = if (0..64).contains(&new_bits) { (1u64 << new_bits) - 1 } else { u64::MAX };
        if low_64(&number) > most {
            return Err(FunctionError::new(eco_format!(
                "prefix extension of {new_bits} does not accommodate a subnet numbered {number}"
            )));
        }
        let Ok(short) = u32::try_from(prefix) else {
            return Err(FunctionError::new("the prefix cannot be made shorter than zero bits"));
        };
        let ip = Ip::from_big(&(IBig::from(bits) | (number << (width - short) as usize)), width)?;
        let (ip, prefix) = Network { ip, prefix: short }.canonical();
        Ok(eco_format!("{ip}/{prefix}"))
    }
}

/// The lower 64 bits of the magnitude.
fn low_64(number: &IBig) -> u64 {
    let magnitude: IBig = if *number < IBig::ZERO { -number.clone() } else { number.clone() };
    let magnitude = UBig::try_from(magnitude).unwrap_or_default();
    let low = magnitude & UBig::from(u64::MAX);
    u64::try_from(&low).unwrap_or(u64::MAX)
}

fn network(text: &str) -> Result<Network> {
    parse_network(text).ok_or_else(|| FunctionError::new(invalid_prefix(text)))
}

fn invalid_prefix(text: &str) -> EcoString {
    eco_format!("{text:?} is not an IP network prefix in CIDR notation, which looks like \"10.0.0.0/8\"")
}

fn netmask(prefix: &str) -> Result {
    let network = network(prefix)?;
    if network.ip.to_v4().is_none() {
        return Err(FunctionError::new(eco_format!("{prefix:?} is an IPv6 prefix, and only IPv4 has netmasks")));
    }
    let mask = Ip { bits: mask(network.prefix, network.ip.width), width: network.ip.width };
    Ok(Value::string(mask.to_string()))
}

fn contains(outer: &str, inner: &str) -> Result {
    let network = network(outer)?;
    let (first, last) = match (parse_ip(inner), parse_network(inner)) {
        (Some(ip), _) => (ip, ip),
        (None, Some(inner)) => (inner.ip, inner.last()),
        (None, None) => {
            return Err(FunctionError::new(eco_format!("{inner:?} is neither an IP address nor a network prefix")));
        }
    };
    if first.to_v4().is_some() != network.ip.to_v4().is_some() {
        return Err(FunctionError::new(eco_format!("{outer:?} and {inner:?} are of different address families")));
    }
    Ok(Value::bool(network.contains(first) && network.contains(last)))
}

fn subnets(prefix: &str, new_bits: &[Value]) -> Result {
    let base = parse_network(prefix).ok_or_else(|| FunctionError::arg(0, invalid_prefix(prefix)))?;
    let mut found = Vec::with_capacity(new_bits.len());
    let mut current: Option<Network> = None;
    for (index, bits) in new_bits.iter().enumerate() {
        let fail = |message: EcoString| FunctionError::arg(index + 1, message);
        let bits = int_argument(bits).map_err(fail)?;
        if bits < 1 {
            return Err(fail("must extend prefix by at least one bit".into()));
        }
        let Some(bits) = u32::try_from(bits).ok().filter(|bits| *bits <= 32) else {
            return Err(fail("may not extend prefix by more than 32 bits".into()));
        };
        let length = base.prefix + bits;
        let width = base.ip.width;
        if length > width {
            let protocol = if width == 32 { "IPv4" } else { "IPv6" };
            return Err(fail(eco_format!(
                "would extend prefix to {length} bits, which is too long for an {protocol} address"
            )));
        }
        let next = match current {
            // Quirk: nothing can be carved out of an IPv4-mapped IPv6 prefix, nor out of one that starts at zero.
            None if base.ip.bits == 0 || (width == 128 && base.ip.to_v4().is_some()) => None,
            None => Some(Network { ip: base.ip, prefix: length }),
            Some(current) => current.next(length),
        };
        let Some(next) = next.filter(|next| base.contains(next.ip)) else {
            let after = current.map(|c| eco_format!(" after {}/{}", c.ip, c.prefix)).unwrap_or_default();
            return Err(fail(eco_format!("no room is left for a subnet with a prefix of {length} bits{after}")));
        };
        found.push(Value::string(eco_format!("{}/{}", next.ip, next.prefix)));
        current = Some(next);
    }
    Ok(Value::list(Type::string(), found))
}

// ---- parsing ------------------------------------------------------------------------------------------------------

/// Numbers from here on are refused while reading them.
const TOO_BIG: u32 = 0xff_ffff;

/// The number at the start of `text` and what follows it.
fn leading_number(text: &str, radix: u32) -> Option<(u32, &str)> {
    let mut number = 0u32;
    let end = text.bytes().position(|b| !char::from(b).is_digit(radix)).unwrap_or(text.len());
    for digit in text[..end].chars() {
        number = number * radix + digit.to_digit(radix)?;
        if number >= TOO_BIG {
            return None;
        }
    }
    (end > 0).then(|| (number, &text[end..]))
}

/// Quirk: leading zeros are allowed and do not mean octal.
fn parse_v4(text: &str) -> Option<Ip> {
    let mut bits = 0;
    let mut rest = text;
    for octet in 0..4 {
        if octet > 0 {
            rest = rest.strip_prefix('.')?;
        }
        let (number, tail) = leading_number(rest, 10)?;
        bits = bits << 8 | u128::from(u8::try_from(number).ok()?);
        rest = tail;
    }
    rest.is_empty().then_some(Ip { bits, width: 32 })
}

fn parse_v6(text: &str) -> Option<Ip> {
    let mut groups: Vec<u16> = Vec::with_capacity(8);
    let mut ellipsis = None;
    let mut rest = text;
    if let Some(tail) = rest.strip_prefix("::") {
        ellipsis = Some(0);
        rest = tail;
        if rest.is_empty() {
            return Some(Ip { bits: 0, width: 128 });
        }
    }
    while groups.len() < 8 {
        let (number, tail) = leading_number(rest, 16)?;
        let group = u16::try_from(number).ok()?;
        if tail.starts_with('.') {
            if (ellipsis.is_none() && groups.len() != 6) || groups.len() > 6 {
                return None;
            }
            let v4 = parse_v4(rest)?.bits as u32;
            groups.extend([(v4 >> 16) as u16, v4 as u16]);
            rest = "";
            break;
        }
        groups.push(group);
        rest = tail;
        if rest.is_empty() {
            break;
        }
        rest = rest.strip_prefix(':').filter(|rest| !rest.is_empty())?;
        if let Some(tail) = rest.strip_prefix(':') {
            if ellipsis.is_some() {
                return None;
            }
            ellipsis = Some(groups.len());
            rest = tail;
            if rest.is_empty() {
                break;
            }
        }
    }
    if !rest.is_empty() {
        return None;
    }
    match ellipsis {
        Some(at) if groups.len() < 8 => {
            let missing = 8 - groups.len();
            groups.splice(at..at, std::iter::repeat_n(0, missing));
        }
        None if groups.len() == 8 => {}
        _ => return None,
    }
    let bits = groups.iter().fold(0u128, |bits, group| bits << 16 | u128::from(*group));
    Some(Ip { bits, width: 128 })
}

fn parse_ip(text: &str) -> Option<Ip> {
    match text.bytes().find(|b| matches!(b, b'.' | b':'))? {
        b'.' => parse_v4(text),
        _ => parse_v6(text),
    }
}

fn parse_network(text: &str) -> Option<Network> {
    let (address, length) = text.split_once('/')?;
    let ip = parse_v4(address).or_else(|| parse_v6(address))?;
    let (prefix, rest) = leading_number(length, 10)?;
    (rest.is_empty() && prefix <= ip.width).then(|| Network { ip: ip.masked(prefix), prefix })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Arguments are texts, or numbers where they look like one.
    fn check(call: &str, expect: &str) {
        let (name, args) = call.split_once(' ').expect("a name and arguments");
        let function = functions().into_iter().find(|f| f.signature.name == name).expect("it is in the table");
        let args: Vec<Value> = args
            .split(' ')
            .enumerate()
            .map(|(index, arg)| match Number::parse(arg).filter(|_| index > 0) {
                Some(number) => Value::number(number),
                None => Value::string(arg),
            })
            .collect();
        let text = match function.call(&args) {
            Ok(value) => match value.as_seq() {
                Some(items) => {
                    items.iter().filter_map(Value::as_str).map(EcoString::as_str).collect::<Vec<_>>().join(" ")
                }
                None => value.as_str().map_or_else(|| format!("{:?}", value.as_bool()), EcoString::to_string),
            },
            Err(error) => format!("{:?} {}", error.arg, error.message()),
        };
        assert_eq!(text, expect, "{call}");
    }

    #[test]
    fn hosts() {
        check("cidrhost 10.12.127.0/20 16", "10.12.112.16");
        check("cidrhost 010.001.0.0/16 258", "10.1.1.2");
        check("cidrhost 192.168.1.0/24 -1", "192.168.1.255");
        check("cidrhost fd00:fd12:3456:7890::/56 -2", "fd00:fd12:3456:78ff:ffff:ffff:ffff:fffe");
        check("cidrhost ::/0 340282366920938463463374607431768211455", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");
        check("cidrhost 10.0.0.0/30 4", "None prefix of 30 does not accommodate a host numbered 4");
        check("cidrhost 10.0.0.0/8 1.5", "None value must be a whole number");
        check("cidrhost 10.0.0.0/8 1e99999", "None number is too large for an IP address");
        check(
            "cidrhost 10.0.0/8 1",
            "None \"10.0.0/8\" is not an IP network prefix in CIDR notation, which looks like \"10.0.0.0/8\"",
        );
        check("cidrhost ::ffff:10.0.0.0/104 5", "0:5::ffff:a00:0");
    }

    #[test]
    fn masks_and_members() {
        check("cidrnetmask 172.16.0.0/12", "255.240.0.0");
        check("cidrnetmask fd00::/8", "None \"fd00::/8\" is an IPv6 prefix, and only IPv4 has netmasks");
        check("cidrcontains 192.168.2.0/20 192.168.2.1", "Some(true)");
        check("cidrcontains 192.168.2.0/20 192.168.0.0/19", "Some(false)");
        check(
            "cidrcontains fe80::/48 10.0.0.1",
            "None \"fe80::/48\" and \"10.0.0.1\" are of different address families",
        );
        check("cidrcontains 10.0.0.0/8 ten", "None \"ten\" is neither an IP address nor a network prefix");
    }

    #[test]
    fn subnets_in_prefixes() {
        check("cidrsubnet 172.16.0.0/12 4 2", "172.18.0.0/16");
        check("cidrsubnet fd00:fd12:3456:7890::/56 16 162", "fd00:fd12:3456:7800:a200::/72");
        check("cidrsubnet 10.0.0.0/8 -4 0", "10.0.0.0/4");
        check("cidrsubnet 10.0.0.0/8 8 -1", "0.1.0.0/16");
        check("cidrsubnet 10.0.0.0/8 25 0", "None insufficient address space to extend prefix of 8 by 25");
        check("cidrsubnet 10.0.0.0/8 2 4", "None prefix extension of 2 does not accommodate a subnet numbered 4");
        check("cidrsubnets 10.1.0.0/16 4 4 8 4", "10.1.0.0/20 10.1.16.0/20 10.1.32.0/24 10.1.48.0/20");
        check(
            "cidrsubnets 10.0.0.0/8 1 1 1",
            "Some(3) no room is left for a subnet with a prefix of 9 bits after 10.128.0.0/9",
        );
        check("cidrsubnets 0.0.0.0/0 1", "Some(1) no room is left for a subnet with a prefix of 1 bits");
        check("cidrsubnets 10.0.0.0/8 4 33", "Some(2) may not extend prefix by more than 32 bits");
        check(
            "cidrsubnets 10.0.0.0/24 9",
            "Some(1) would extend prefix to 33 bits, which is too long for an IPv4 address",
        );
    }
}
