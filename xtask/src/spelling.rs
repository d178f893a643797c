//! Frequent misspellings in comments and pages. The list needs no tool; it finds no other words.

/// Misspellings and the right words.
const WORDS: &[(&str, &str)] = &[
    ("accidently", "accidentally"),
    ("accomodate", "accommodate"),
    ("accross", "across"),
    ("acheive", "achieve"),
    ("adress", "address"),
    ("agressive", "aggressive"),
    ("aquire", "acquire"),
    ("arbitary", "arbitrary"),
    ("arguement", "argument"),
    ("asynchonous", "asynchronous"),
    ("atribute", "attribute"),
    ("attibute", "attribute"),
    ("availible", "available"),
    ("avaliable", "available"),
    ("becuase", "because"),
    ("begining", "beginning"),
    ("beleive", "believe"),
    ("calender", "calendar"),
    ("catagory", "category"),
    ("charachter", "character"),
    ("comparision", "comparison"),
    ("compatability", "compatibility"),
    ("completly", "completely"),
    ("configuartion", "configuration"),
    ("configuraton", "configuration"),
    ("connnection", "connection"),
    ("consistant", "consistent"),
    ("contructor", "constructor"),
    ("decendant", "descendant"),
    ("decsription", "description"),
    ("definately", "definitely"),
    ("dependancies", "dependencies"),
    ("dependancy", "dependency"),
    ("dependecy", "dependency"),
    ("destory", "destroy"),
    ("diffrent", "different"),
    ("dissapear", "disappear"),
    ("enviornment", "environment"),
    ("enviroment", "environment"),
    ("equivelant", "equivalent"),
    ("existance", "existence"),
    ("expresion", "expression"),
    ("exsits", "exists"),
    ("flie", "file"),
    ("foward", "forward"),
    ("fucntion", "function"),
    ("funtion", "function"),
    ("garantee", "guarantee"),
    ("gurantee", "guarantee"),
    ("heirarchy", "hierarchy"),
    ("identifer", "identifier"),
    ("immediatly", "immediately"),
    ("implementaion", "implementation"),
    ("incompatable", "incompatible"),
    ("independant", "independent"),
    ("infomation", "information"),
    ("initalize", "initialize"),
    ("instace", "instance"),
    ("intial", "initial"),
    ("langauge", "language"),
    ("lenght", "length"),
    ("libary", "library"),
    ("maintainance", "maintenance"),
    ("managment", "management"),
    ("mesage", "message"),
    ("neccessary", "necessary"),
    ("necesary", "necessary"),
    ("noticable", "noticeable"),
    ("occassion", "occasion"),
    ("occured", "occurred"),
    ("occurence", "occurrence"),
    ("occuring", "occurring"),
    ("ommit", "omit"),
    ("ommited", "omitted"),
    ("overriden", "overridden"),
    ("paralell", "parallel"),
    ("paramater", "parameter"),
    ("parrallel", "parallel"),
    ("persistant", "persistent"),
    ("posible", "possible"),
    ("postion", "position"),
    ("preceeding", "preceding"),
    ("prefered", "preferred"),
    ("presense", "presence"),
    ("priviledge", "privilege"),
    ("proccess", "process"),
    ("programatically", "programmatically"),
    ("propery", "property"),
    ("provder", "provider"),
    ("publically", "publicly"),
    ("recieve", "receive"),
    ("recieved", "received"),
    ("recomend", "recommend"),
    ("recursivly", "recursively"),
    ("refered", "referred"),
    ("refrence", "reference"),
    ("relevent", "relevant"),
    ("remvoe", "remove"),
    ("reponse", "response"),
    ("requirment", "requirement"),
    ("resorce", "resource"),
    ("resouce", "resource"),
    ("retreive", "retrieve"),
    ("retun", "return"),
    ("seperate", "separate"),
    ("seperated", "separated"),
    ("shoud", "should"),
    ("similiar", "similar"),
    ("succesful", "successful"),
    ("successfull", "successful"),
    ("sucess", "success"),
    ("sucessfully", "successfully"),
    ("supress", "suppress"),
    ("supressed", "suppressed"),
    ("syncronize", "synchronize"),
    ("teh", "the"),
    ("temperary", "temporary"),
    ("threshhold", "threshold"),
    ("tranfer", "transfer"),
    ("transfered", "transferred"),
    ("truely", "truly"),
    ("undefinied", "undefined"),
    ("unecessary", "unnecessary"),
    ("unkown", "unknown"),
    ("untill", "until"),
    ("usefull", "useful"),
    ("vaild", "valid"),
    ("varable", "variable"),
    ("varaible", "variable"),
    ("verison", "version"),
    ("wether", "whether"),
    ("whereever", "wherever"),
    ("wich", "which"),
    ("writting", "writing"),
    ("wrtie", "write"),
];

/// Finds misspelt words in comments of sources and in the prose of pages. Strings and code may be wrong on purpose.
pub(crate) fn check(files: &[(String, String)], breaches: &mut Vec<String>) {
    for (path, text) in files {
        let (is_page, mut is_code) = (path.ends_with(".md"), false);
        for (index, line) in text.lines().enumerate() {
            if is_page && line.trim_start().starts_with("```") {
                is_code = !is_code;
            }
            let prose = match is_page {
                true if is_code => "",
                true => line,
                false => line.split_once("//").map_or("", |(_, comment)| comment),
            };
            // Every second part is between backticks.
            let lowered = prose.split('`').step_by(2).collect::<Vec<_>>().join(" ").to_lowercase();
            for word in lowered.split(|character: char| !character.is_ascii_alphabetic()) {
                if let Ok(at) = WORDS.binary_search_by_key(&word, |(wrong, _)| wrong) {
                    breaches.push(format!("{path}:{}: {word:?} is misspelt; write {:?}", index + 1, WORDS[at].1));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{WORDS, check};

    #[test]
    fn the_list_is_sorted() {
        assert!(WORDS.is_sorted_by(|one, other| one.0 < other.0));
    }

    #[test]
    fn misspelt_words_are_found_with_their_line() {
        let mut breaches = Vec::new();
        let source = format!("let recieve = \"teh\";\nlet a = 1; /{} words.\n", "/ Seperate");
        let page = "Teh page says `teh`.\n\n```\nteh\n```\n";
        check(&[("a.rs".to_owned(), source), ("a.md".to_owned(), page.to_owned())], &mut breaches);
        let expected =
            ["a.rs:2: \"seperate\" is misspelt; write \"separate\"", "a.md:1: \"teh\" is misspelt; write \"the\""];
        assert_eq!(breaches, expected);
    }
}
