use super::constants::*;
use super::service::Service;

const LIMITS: [u32; 8] = [1 << 18, 200, 100, 100, 128, 8 << 20, 10_000_000, 0];
const TIME: [u32; 9] = [2025, 1, 2, 3, 4, 5, 6, 0, 0];

fn input(flags: u32, field: &str, content: &[u8]) -> Vec<u8> {
    let lengths = [field.len() as u32, content.len() as u32];
    let words = [flags].into_iter().chain(LIMITS).chain(TIME).chain(lengths);
    let mut bytes: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
    bytes.extend(field.as_bytes());
    bytes.extend(content);
    bytes
}

fn compile(service: &mut Service, source: &str) -> u32 {
    let bytes = input(FLAG_STRICT, "", source.as_bytes());
    service.put(&bytes);
    service.compile(bytes.len())
}

fn render(service: &mut Service, template: u32, flags: u32, request: &str) -> i64 {
    let bytes = input(flags | FLAG_CLOCK, "", request.as_bytes());
    service.put(&bytes);
    service.render(template, bytes.len())
}

const REQUEST: &str = r#"{"messages":[{"role":"user","content":"Hi"}]}"#;

#[test]
fn compiles_and_renders() {
    let mut service = Service::default();
    let template = compile(&mut service, "{{ messages[0].content }} {{ x }}!");
    assert_ne!(template, 0);
    assert_eq!(service.answer.notes, "[]");
    assert_ne!(render(&mut service, template, 0, REQUEST), -1);
    assert_eq!(service.answer.text, "Hi !");
    assert_eq!(service.answer.kind(), 0);
    let other = compile(&mut service, "other");
    assert_ne!(render(&mut service, other, 0, REQUEST), -1);
    assert_eq!(service.answer.text, "other");
    service.drop(template);
    assert_eq!(render(&mut service, template, 0, REQUEST), -1);
    assert_eq!(service.answer.kind(), ERROR_BAD_ARGUMENT);
}

#[test]
fn errors_are_in_the_block() {
    let mut service = Service::default();
    assert_eq!(compile(&mut service, "{% if %}"), 0);
    assert_eq!(service.answer.kind(), ERROR_SYNTAX);
    let template = compile(&mut service, "{{ raise_exception('no ' ~ messages[0].role) }}");
    assert_eq!(render(&mut service, template, 0, REQUEST), -1);
    assert_eq!((service.answer.kind(), service.answer.text.as_str()), (ERROR_RAISED, "no user"));
    assert_eq!(render(&mut service, template, 0, "{"), -1);
    assert_eq!(service.answer.kind(), ERROR_CONTEXT);
    assert_eq!(render(&mut service, template, 1 << 30, REQUEST), -1);
    assert_eq!(service.answer.kind(), ERROR_BAD_ARGUMENT);
}

#[test]
fn a_short_or_lying_input_is_refused() {
    let mut service = Service::default();
    let bytes = input(0, "field", b"content");
    for end in 0..bytes.len() {
        service.put(&bytes[..end]);
        assert_eq!(service.compile(end), 0);
        assert_eq!(service.answer.kind(), ERROR_BAD_ARGUMENT);
    }
    assert_eq!(service.compile(1 << 20), 0);
    assert_eq!(service.compile(usize::MAX), 0);
}

#[test]
fn a_continued_message_ends_the_text() {
    let mut service = Service::default();
    let template = compile(&mut service, "<u>{{ messages[0].content }}</u>");
    assert_ne!(render(&mut service, template, FLAG_CONTINUES, REQUEST), -1);
    assert_eq!(service.answer.text, "<u>Hi");
}

#[test]
fn there_is_an_end_to_templates() {
    let mut service = Service::default();
    for handle in 1..=MAX_TEMPLATES as u32 {
        assert_eq!(compile(&mut service, "x"), handle);
    }
    assert_eq!(compile(&mut service, "x"), 0);
    service.drop(7);
    service.drop(0);
    service.drop(u32::MAX);
    assert_eq!(compile(&mut service, "x"), 7);
}
