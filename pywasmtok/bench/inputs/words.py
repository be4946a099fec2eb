"""Words, most frequent first, that the benchmark's texts in other scripts are generated from.

Written for this purpose. Word order carries Zipf's law; sense does not matter, only that letters,
lengths and repetition look like the language.
"""

# ruff: noqa: RUF001, SIM905  (other scripts, and lists that read better as text)

from __future__ import annotations

__all__ = [
    "CHINESE",
    "HAN",
    "JAPANESE_ENDINGS",
    "JAPANESE_NOUNS",
    "JAPANESE_PARTICLES",
    "SPACED",
    "SYMBOLS",
]

CHINESE = (
    "的 是 在 了 和 有 我们 这个 不 可以 一个 使用 进行 系统 用户 数据 如果 需要 就 也 都 会 对 到 "
    "时候 问题 没有 通过 文件 方法 程序 因为 所以 但是 或者 自己 他们 什么 已经 还 能够 应该 必须 "
    "时间 工作 公司 中国 发展 社会 经济 技术 信息 研究 服务 管理 网络 软件 计算机 语言 模型 文本 "
    "处理 结果 功能 支持 提供 实现 设置 配置 安装 运行 更新 版本 环境 变量 函数 参数 返回 内存 "
    "服务器 客户端 请求 响应 错误 日志 测试 代码 项目 开发 设计 性能 安全 部署 分析 学习 训练 "
    "第一 第二 一些 许多 其他 所有 每个 不同 相同 重要 主要 新的 大的 小的 更好 非常 特别 比较 "
    "今天 明天 昨天 现在 以后 以前 今年 去年 上午 下午 晚上 早上 星期 月份 小时 分钟 "
    "北京 上海 广州 城市 学校 老师 学生 医院 医生 家庭 孩子 朋友 父母 生活 健康 文化 历史 "
    "音乐 电影 新闻 市场 产品 价格 质量 客户 合同 银行 投资 政府 法律 政策 教育 科学 环境保护 "
    "人工智能 机器学习 深度 神经网络 算法 优化 编码 解码 词表 分词 字符 字节 序列 标记 长度 "
    "输入 输出 接口 协议 线程 进程 缓存 索引 查询 存储 数据库 表格 图像 视频 声音 设备 手机 "
    "打开 关闭 点击 选择 保存 删除 复制 移动 创建 修改 检查 确认 取消 登录 注册 密码 账号 "
    "认为 表示 希望 知道 觉得 告诉 开始 结束 继续 准备 决定 帮助 了解 注意 发现 解决 讨论 "
    "虽然 然而 因此 例如 根据 关于 为了 由于 并且 而且 只有 无论 即使 尽管 同时 另外 首先 最后 "
    "天气 下雨 温度 春天 冬天 海洋 河流 山脉 森林 动物 植物 花园 食物 水果 米饭 面条 咖啡 茶叶 "
    "飞机 火车 汽车 地铁 机场 旅行 酒店 地图 道路 桥梁 建筑 房间 窗户 桌子 书籍 衣服 颜色 红色"
).split()

JAPANESE_NOUNS = (
    "こと もの システム 場合 設定 ファイル データ 情報 プログラム 使用 利用者 時間 問題 方法 処理 "
    "サーバー ユーザー 日本 言語 文字列 関数 変数 結果 機能 環境 実行 表示 開発 研究 会社 東京 "
    "仕事 世界 今日 明日 昨日 学校 学生 先生 電話 電車 駅 病院 料理 写真 音楽 映画 新聞 天気 "
    "ネットワーク コンピューター ソフトウェア モデル トークン メモリ エラー メッセージ テスト "
    "バージョン インストール パッケージ コマンド オプション ディレクトリ 入力 出力 検索 登録 "
    "更新 削除 作成 変更 確認 管理 接続 通信 暗号 鍵 画面 画像 動画 音声 学習 推論 性能 速度 "
    "並列 実装 仕様 標準 規格 文書 章 節 説明 例 注意 質問 回答 理由 目的 意味 価格 製品 市場 "
    "政府 法律 経済 社会 文化 歴史 科学 技術 健康 家族 子供 友達 季節 春 夏 秋 冬 海 山 川 空 "
    "京都 大阪 北海道 旅行 空港 ホテル 地図 道路 建物 部屋 窓 机 本 服 色 赤 青 白 コーヒー お茶"
).split()
JAPANESE_PARTICLES = "は が を に の で と も から まで へ や より について における として".split()
JAPANESE_ENDINGS = (
    "します です ました ています できます ません でした と思います ください になります がある "
    "である されている してください ことができます ではありません かもしれません でしょう する"
).split()

# Frequent Han characters, for names and compounds that no list holds.
HAN = (
    "一丁七三上下不世中主久之乐九书云五井交京亮人今介令代以伊伏会伟传伯位佐何作使侃供依俊保信修"
    "倉健偉元先光克入公六兰共其典冬冰冲凌凡凯初別利刚前力加助勇勤化北千升午半华卓南博原又友双古"
    "可台司吉同名君吴周和品哲唐商善喜嘉四国园土圣在地坂城堂堡塔境墨士声夏外多夜大天太夫央奇奥女"
    "好如妙姚娜婉婷子孔孝孟季学宁宇守安宋宏宗官定宜实宣室宫家容富寒寺寿小少尚尼居展山岗岛岩峰島"
    "崇崎川州工巧左市布帆平年幸广庄康廷建弘张强彦彩影彭後徐得德心志怀思恒恩情惠愛慈慧成戴所手才"
    "承振敏教文斌斯新方旅日旭昌明星春昭晋晓晨景智曲曹月有朋服望朝木本村杜杨杰東松林果柏柔柯柱柳"
)

SPACED = {
    "german": "der die und in zu den das nicht von sie ist des sich mit dem dass er es ein ich auf "
    "so eine auch als an nach wie im für man aber aus durch wenn nur war noch werden bei hat wir "
    "was wird sein einen welche sind oder haben einer über größer Straße können müssen Übersicht "
    "Änderung Geschwindigkeit Zeichenkette Verarbeitung Datenbankverbindung Rechtschreibprüfung",
    "french": "de la le et les des en un du une que est pour qui dans par plus pas au sur ne se ce "
    "il sont été avec mais comme tout nous sa fait être deux même aussi où élève français après "
    "très système données déjà fenêtre préférences l'utilisateur qu'il aujourd'hui développement",
    "spanish": "de la que el en y a los se del las un por con no una su para es al lo como más o "
    "pero sus le ha me si sin sobre este ya entre cuando todo esta ser son dos también fue año "
    "niño corazón según están después información configuración contraseña búsqueda",
    "polish": "w i na z do nie się że to jest o jak po za od przez ale co przy tym dla tak być "
    "może które już lub oraz tylko są był łódź źródło święto książka użytkownik ustawienia żółty",
    "turkish": "bir ve bu da de için ile çok ne daha gibi olarak var kadar sonra ama en olan şey "
    "değil güzel büyük küçük İstanbul ışık öğrenci çalışıyor kullanıcı değiştirilemeyen",
    "vietnamese": "và của là có không được trong một cho với người những này đã các khi để từ như "
    "nhiều sau đến cũng vào tôi Việt Nam hệ thống dữ liệu người dùng phần mềm tiếng ngữ",
    "russian": "и в не на я что он с как это по но они к у мы же вы за бы так от все его для если "
    "уже или когда только был нет может можно система данные файл программа пользователь язык "
    "модель время работа человек жизнь первый новый большой использование информации ошибка",
    "ukrainian": "і в не на що я з як це та він до але у ми за так від або її його є щоб який було "
    "може система дані мова їжа людина життя об'єкт користувач зв'язок інформація",
    "greek": "και το της η του να με για που από είναι στο την τα θα δεν ότι μια ένα τους στην "
    "κατά αλλά πρέπει μπορεί χρήστης σύστημα αρχείο γλώσσα κείμενο πληροφορία ημέρα",
    "arabic": "في من على أن إلى هذا التي الذي عن كان مع ما هو لا بعد كل أو قد بين هذه وقد النظام "
    "المستخدم البيانات الملف اللغة النص العربية المعلومات الكتاب مدينة اليوم السلام",
    "hebrew": "של את על לא הוא זה עם כל אני גם היא או יש אם כי מה אבל היה בין עוד יותר מערכת "
    "משתמש קובץ שפה טקסט נתונים שלום עולם ירושלים",
    "hindi": "के में की है और से का को पर इस यह कि एक नहीं हैं ने लिए भी कर था हो तो जो अपने "
    "प्रणाली उपयोगकर्ता भाषा जानकारी हिन्दी समय दुनिया नमस्ते क्षेत्र विज्ञान",
    "bengali": "এবং এই করে থেকে জন্য একটি না হয় যে তার সঙ্গে করা আমি বাংলা ভাষা মানুষ তথ্য সময় ব্যবহারকারী বিশ্ব",
    "tamil": "ஒரு மற்றும் இந்த என்று அது உள்ள இல்லை தமிழ் மொழி தகவல் உலகம் வணக்கம் பயனர் நேரம்",
    "thai": "ที่ และ เป็น ใน การ ของ มี ได้ ไม่ ให้ จะ ว่า กับ ระบบ ผู้ใช้ ข้อมูล ภาษา ไทย สวัสดี "
    "คอมพิวเตอร์ โปรแกรม กรุงเทพ",
    "korean": "이 그 및 수 있는 것은 하는 에서 있다 한다 으로 대한 사용자 시스템 데이터 파일 언어 "
    "모델 안녕하세요 서울 시간 사람 문제 프로그램 결과를 합니다 그리고 하지만 대한민국",
    "georgian": "და არის რომ ეს არ მე თუ როგორც საქართველო ენა სისტემა მომხმარებელი",
    "armenian": "և է որ այս չի ես կամ Հայաստան լեզու համակարգ օգտվող",
    "amharic": "እና ነው ላይ ውስጥ ይህ አማርኛ ቋንቋ ሰላም ዓለም",
}
SYMBOLS = "😀 👍 🎉 ❤️ 👨‍👩‍👧 🇩🇪 🇯🇵 ✅ → • — … “ ” € £ ½ ° ™ √ ∑ ≤ 🚀 👩🏽‍💻".split()
