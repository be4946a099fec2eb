use super::*;
use crate::context::{entries, parse_json};
use crate::error::Kind;
use crate::limits::Limits;
use crate::value::Value;

fn json(text: &str) -> Value {
    parse_json(text.as_bytes(), Limits::default().depth).unwrap()
}

fn variable(prepared: &Prepared, name: &str) -> Value {
    let found = prepared.variables.iter().find(|(known, _)| known.as_str() == Some(name));
    found.map(|(_, value)| value.clone()).unwrap()
}

fn messages(request: &str, source: &str, habits: &Habits<'_>) -> String {
    let prepared = prepare(&json(request), source, habits).unwrap();
    shown(&variable(&prepared, "messages"))
}

fn shown(value: &Value) -> String {
    crate::semantics::repr::repr(value).unwrap()
}

fn refused(request: &str, source: &str, habits: &Habits<'_>) -> String {
    let error = prepare(&json(request), source, habits).unwrap_err();
    assert_eq!(error.kind, Kind::Context);
    error.message
}

const PLAIN: Habits<'_> = Habits { profile: Profile::Hf5, continues: None, generation: false };
const OLD: Habits<'_> = Habits { profile: Profile::Hf457, ..PLAIN };
const CONTINUED: Habits<'_> = Habits { continues: Some(""), ..PLAIN };

#[test]
fn keys_without_a_value_are_dropped_at_the_top_of_messages_only() {
    let request = r#"{"messages":[{"role":"user","content":null,"x":{"y":null}}]}"#;
    assert_eq!(messages(request, "", &PLAIN), shown(&json(r#"[{"role":"user","x":{"y":null}}]"#)));
    assert_eq!(
        messages(request, "", &OLD),
        shown(&json(r#"[{"role":"user","content":null,"x":{"y":null}}]"#))
    );
}

#[test]
fn reasoning_stands_under_its_names() {
    let of = |message: &str| messages(&format!(r#"{{"messages":[{message}]}}"#), "", &PLAIN);
    assert_eq!(
        of(r#"{"role":"a","reasoning":"r"}"#),
        shown(&json(r#"[{"thinking":"r","role":"a","reasoning":"r","reasoning_content":"r"}]"#))
    );
    assert_eq!(
        of(r#"{"role":"a","thinking":"t","reasoning_content":null}"#),
        shown(&json(r#"[{"thinking":"t","role":"a","reasoning_content":"t"}]"#))
    );
    assert_eq!(
        of(r#"{"reasoning_content":"c","role":"a","thinking":"t"}"#),
        shown(&json(r#"[{"thinking":"t","reasoning_content":"c","role":"a"}]"#))
    );
    assert_eq!(of(r#"{"reasoning":null}"#), shown(&json("[{}]")));
}

#[test]
fn the_parts_of_a_request_hide_arguments_and_arguments_hide_the_tokenizer() {
    let request = r#"{"messages":[{"role":"u"}],"tools":null,
        "special":{"bos_token":"<s>","eos_token":"</s>","messages":"no"},
        "arguments":{"bos_token":"mine","tools":1,"x":2}}"#;
    let prepared = prepare(&json(request), "", &PLAIN).unwrap();
    assert_eq!(variable(&prepared, "bos_token").as_str(), Some("mine"));
    assert_eq!(variable(&prepared, "eos_token").as_str(), Some("</s>"));
    assert_eq!(variable(&prepared, "x"), Value::from(2));
    assert!(variable(&prepared, "tools").is_none());
    assert!(variable(&prepared, "documents").is_none());
    assert!(!variable(&prepared, "add_generation_prompt").is_true());
    assert!(variable(&prepared, "messages").as_str().is_none());
    assert_eq!(prepared.own(), ["eos_token"]);
}

#[test]
fn requests_that_make_no_sense() {
    assert!(refused(r#"{"messages":[]}"#, "", &PLAIN).contains("empty conversation"));
    assert!(refused(r#"{"messages":[]}"#, "", &OLD).contains("empty conversation"));
    assert_eq!(
        refused(r#"{"messages":["hi"]}"#, "", &PLAIN),
        "Chat messages should be dicts, dataclasses or pydantic models, but got 'hi'."
    );
    assert!(refused(r#"{"messages":"hi"}"#, "", &PLAIN).contains("must be a list"));
    assert!(refused(r#"{"messages":[{}],"tools":[1]}"#, "", &PLAIN).contains("JSON schema"));
    assert!(refused(r#"{"messages":[{}],"documents":["d"]}"#, "", &PLAIN).contains("list of dicts"));
    assert!(refused(r#"{"messages":[{}],"other":1}"#, "", &PLAIN).contains("no part"));
    assert!(refused(r#"[1]"#, "", &PLAIN).contains("an object"));
    let both = r#"{"messages":[{"content":"x"}],"add_generation_prompt":true}"#;
    assert!(refused(both, "content", &CONTINUED).contains("not compatible"));
    let masked = Habits { generation: true, ..CONTINUED };
    let one = r#"{"messages":[{"content":"x"}]}"#;
    assert!(refused(one, "content", &masked).contains("not compatible"));
}

#[test]
fn the_last_message_is_marked() {
    let request = r#"{"messages":[{"content":"a"},{"content":"b "}]}"#;
    let source = "{{ m.content }}";
    assert_eq!(
        messages(request, source, &CONTINUED),
        shown(&json(r#"[{"content":"a"},{"content":"b CONTINUE_FINAL_MESSAGE_TAG "}]"#))
    );
    let prepared = prepare(&json(request), source, &CONTINUED).unwrap();
    assert_eq!(prepared.last.as_deref(), Some("b "));
    let blocks = r#"{"messages":[{"content":[{"text":"a"},{"text":"b"},{"type":"image"}]}]}"#;
    assert_eq!(
        messages(blocks, source, &CONTINUED),
        shown(&json(
            r#"[{"content":[{"text":"a"},{"text":"bCONTINUE_FINAL_MESSAGE_TAG "},{"type":"image"}]}]"#
        ))
    );
    let thinking = Habits { continues: Some("reasoning"), ..PLAIN };
    assert_eq!(
        messages(r#"{"messages":[{"reasoning":"r","content":"c"}]}"#, "thinking", &thinking),
        shown(&json(
            r#"[{"thinking":"rTAG","reasoning":"rTAG","content":"c","reasoning_content":"rTAG"}]"#
        ))
        .replace("TAG", "CONTINUE_FINAL_MESSAGE_TAG ")
    );
    // What differs is another text: only the field that was named is continued.
    assert_eq!(
        messages(
            r#"{"messages":[{"reasoning_content":"c","thinking":"t"}]}"#,
            "thinking",
            &Habits { continues: Some("thinking"), ..PLAIN }
        ),
        shown(&json(r#"[{"thinking":"tCONTINUE_FINAL_MESSAGE_TAG ","reasoning_content":"c"}]"#))
    );
    assert_eq!(
        messages(request, "", &Habits { profile: Profile::Hf457, ..CONTINUED }),
        shown(&json(r#"[{"content":"a"},{"content":"b CONTINUE_FINAL_MESSAGE_TAG "}]"#))
    );
}

#[test]
fn what_cannot_be_continued() {
    let of = |message: &str, source: &str| {
        refused(&format!(r#"{{"messages":[{message}]}}"#), source, &CONTINUED)
    };
    assert!(of(r#"{"role":"a"}"#, "content").contains("no \"content\" to continue"));
    assert!(of(r#"{"content":null}"#, "content").contains("no \"content\" to continue"));
    assert!(of(r#"{"content":"x"}"#, "nothing").contains("not an accepted field"));
    assert!(of(r#"{"content":5}"#, "content").contains("no text"));
    assert!(of(r#"{"content":[]}"#, "content").contains("any text to continue"));
    assert!(of(r#"{"content":[{"type":"image"},"x"]}"#, "content").contains("any text"));
    assert!(of(r#"{"content":["some text"]}"#, "content").contains("no text"));
    assert!(of(r#"{"content":[{"text":1}]}"#, "content").contains("no text"));
}

#[test]
fn the_cut() {
    let cut_at = |text: &str, last: &str| {
        let mut text = text.to_owned();
        cut(&mut text, last).map(|()| text)
    };
    let tag = "CONTINUE_FINAL_MESSAGE_TAG";
    assert_eq!(cut_at(&format!("<a>b {tag} <end>"), "b ").unwrap(), "<a>b ");
    assert_eq!(cut_at(&format!("<a>b \u{1c}\n{tag}<end>"), "b ").unwrap(), "<a>b");
    assert_eq!(cut_at(&format!("{tag} b{tag} "), "b").unwrap(), format!("{tag} b"));
    assert!(cut_at("b", "b").is_err());
    assert!(cut_at(&format!("c{tag}"), "b").is_err());
}

#[test]
fn packed_data_is_what_python_wrote() {
    // marshal.dumps({"a": (1, 2**40, -2**70, -5.5, True, False, None, "é"), 7: [{}]}, 2)
    let bytes = b"{u\x01\0\0\0a(\x08\0\0\0i\x01\0\0\0l\x03\0\0\0\0\0\0\0\0\x04l\xfb\xff\xff\xff\
        \0\0\0\0\0\0\0\0\0\x04g\0\0\0\0\0\0\x16\xc0TFNu\x02\0\0\0\xc3\xa9i\x07\0\0\0[\x01\0\0\0{00";
    let value = parse_packed(bytes, 4).unwrap();
    assert_eq!(
        shown(&value),
        "{'a': (1, 1099511627776, -1180591620717411303424, -5.5, True, False, None, 'é'), 7: [{}]}"
    );
    assert_eq!(entries(&value).unwrap()[1].0, Value::from(7));
    assert!(entries(&value).unwrap()[0].1.is_tuple());
    for end in 0..bytes.len() {
        assert_eq!(parse_packed(&bytes[..end], 4).unwrap_err().kind, Kind::BadArgument);
    }
}

#[test]
fn packed_data_may_refer_to_what_was_before() {
    // The fourth version of the same: short and ASCII texts, small tuples, references.
    let bytes = b"{\xda\x08messages[\x02\0\0\0{\xda\x04role\xda\x03xxx\xf5\x02\0\0\0\xc3\xa9\
        \xf5\x03\0\0\0\xc3\xa9a0{r\x01\0\0\0\xda\x01y0\xda\x01t\xa9\x03\xe9\x01\0\0\0\
        \xec\x03\0\0\0\0\0\0\0\0\x04\xe7\0\0\0\0\0\0\x16\xc00";
    let value = parse_packed(bytes, 8).unwrap();
    assert_eq!(
        shown(&value),
        "{'messages': [{'role': 'xxx', 'é': 'éa'}, {'role': 'y'}], 't': (1, 1099511627776, -5.5)}"
    );
    for end in 0..bytes.len() {
        assert_eq!(parse_packed(&bytes[..end], 8).unwrap_err().kind, Kind::BadArgument);
    }
    // {"a": [1, [2]], "b": [the same, "a"]}
    let shared = b"{\xda\x01a\xdb\x02\0\0\0\xe9\x01\0\0\0[\x01\0\0\0\xe9\x02\0\0\0\xda\x01b\
        [\x02\0\0\0r\x01\0\0\0r\0\0\0\x000";
    let value = parse_packed(shared, 4).unwrap();
    assert_eq!(shown(&value), "{'a': [1, [2]], 'b': [[1, [2]], 'a']}");
    // What is referred to counts as deep as it stands there: one deeper than where it was read.
    assert_eq!(parse_packed(shared, 3).unwrap_err().kind, Kind::Limit);
    let kind = |bytes: &[u8]| parse_packed(bytes, 9).unwrap_err().kind;
    assert_eq!(kind(b"\xdb\x01\0\0\0r\0\0\0\0"), Kind::NotPlain);
    assert_eq!(kind(b"[\x01\0\0\0r\0\0\0\0"), Kind::BadArgument);
    assert_eq!(kind(b"r\xff\xff\xff\xff"), Kind::BadArgument);
}

#[test]
fn packed_data_that_is_not_plain_deep_or_huge() {
    let kind = |bytes: &[u8]| parse_packed(bytes, 2).unwrap_err().kind;
    assert_eq!(kind(b"s\0\0\0\0"), Kind::NotPlain);
    assert_eq!(kind(b"u\x03\0\0\0\xed\xa0\x80"), Kind::NotPlain);
    assert_eq!(kind(b"[\x01\0\0\0[\x01\0\0\0[\0\0\0\0"), Kind::Limit);
    assert_eq!(kind(b"l\xff\xff\0\0"), Kind::Limit);
    assert_eq!(kind(b"[\xff\xff\xff\xffN"), Kind::BadArgument);
    assert_eq!(kind(b"NN"), Kind::BadArgument);
    assert_eq!(kind(b"0"), Kind::NotPlain);
}
