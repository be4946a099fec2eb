"""The text that the suite's tokenizers are trained on: written for it, a little of everything."""

CORPUS = """\
The cat sat on the mat, and the mat was on the floor of the house by the river.
It was not the cat's fault that the floor didn't hold; they're old boards, and we've seen worse.
"How are you?" asked the neighbour. "I'm fine, thank you," she said, "but I'd rather be at home."
There are 7 days in a week, 12 months in a year, 365 or 366 days, and 1,000 words in this text.
In 1984, 2001 and 2024 the water rose to 3.14 metres, which is about 10 feet 3.6 inches.
Tokenizers cut words into tokens: token, tokens, tokenize, tokenizer, tokenizing, tokenization.
The tokenization of a sentence depends on its words, its spaces and its punctuation.
Incomprehensible internationalization is a long word; so is counterintuitive characteristic.
def encode(self, text: str, pair: str | None = None) -> list[int]:
    if text is None:
        raise ValueError("text must not be None")
    for index, piece in enumerate(self.split(text)):
        yield from self.model.encode(piece)  # every piece on its own
    return [token.id for token in tokens if token.id != self.unk_id]
{"role": "user", "content": "Hello, world!", "tools": [{"name": "search", "id": 42}]}
<div class="note"><a href="https://example.org/path?query=1&amp;page=2">Link</a></div>
SELECT name, value FROM items WHERE value > 100 AND name LIKE 'a%' ORDER BY value DESC;
# Heading\n\n- first item\n- second item\n    - nested item\n\n**bold** and *italic* and `code`
HTTPServer getHTTPResponse parseJSONFile snake_case_name CONSTANT_VALUE camelCaseName x1 y2 z3
naïve café résumé Ångström Zürich façade jalapeño São Paulo Übergröße straße coöperate
Der schnelle braune Fuchs springt über den faulen Hund. Wie geht es dir? Danke, gut!
Le vif renard brun saute par-dessus le chien paresseux. Où est la gare, s'il vous plaît ?
El rápido zorro marrón salta sobre el perro perezoso. ¿Cómo estás? ¡Muy bien, gracias!
Быстрая коричневая лиса прыгает через ленивую собаку. Привет, мир! Как дела? Хорошо.
Η γρήγορη καφέ αλεπού πηδάει πάνω από το τεμπέλικο σκυλί. Καλημέρα κόσμε.
الثعلب البني السريع يقفز فوق الكلب الكسول. مرحبا بكم في هذا النص.
השועל החום המהיר קופץ מעל הכלב העצלן. שלום עולם.
नमस्ते दुनिया। यह एक छोटा सा पाठ है। हिन्दी में कुछ शब्द।
สวัสดีชาวโลก นี่คือข้อความสั้นๆ
你好，世界。今天天气很好，我们去公园散步。中文的句子没有空格。
敏捷的棕色狐狸跳过了懒狗。你好吗？我很好，谢谢。
こんにちは世界。今日はいい天気ですね。カタカナとひらがなと漢字。
素早い茶色の狐がのろまな犬を飛び越える。
안녕하세요 세계. 오늘 날씨가 좋네요. 한국어 문장입니다.
😀 👍 ❤️ 👩‍👩‍👧 🇩🇪 🌶 emoji are characters, too 😀😀 👍🏽
"""

LINES = CORPUS.splitlines(keepends=True)
