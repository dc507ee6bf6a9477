"""Sentences in many scripts, each with a word that must find it, written for this project.

One entry is (language, turn, query, other): with `turn` and `other` in one store, searching for `query` must return
`turn` first. `other` is in the same language and shares words or a subject with `turn`, but does not hold the query.
"""

from __future__ import annotations

WORDS_IN_SCRIPTS: list[tuple[str, str, str, str]] = [
    (
        "English",
        "The lighthouse keeper repaired the foghorn on Monday.",
        "foghorn",
        "The lighthouse keeper painted the door on Tuesday.",
    ),
    (
        "English, identifier",
        "The nightly job failed with HRB-7713 after the reboot.",
        "HRB-7713",
        "The nightly job failed with HRB-7718 before the reboot.",
    ),
    (
        "English, path",
        "The limit is read from config/tides.toml at start.",
        "config/tides.toml",
        "The limit is read from config/winds.toml at start.",
    ),
    (
        "French",
        "Ma sœur élève des chèvres près d'Étretat et vend du fromage.",
        "chèvres",
        "Ma sœur élève des moutons près de Dieppe et vend de la laine.",
    ),
    (
        "French, query without accents",
        "Le médecin a déconseillé le café après dîner.",
        "deconseille",
        "Le médecin a permis le thé après déjeuner.",
    ),
    (
        "German",
        "Der Schlüssel für das Bootshaus hängt hinter der Küchentür.",
        "Bootshaus",
        "Der Schlüssel für den Keller liegt unter der Fußmatte.",
    ),
    (
        "German, umlaut",
        "Wir haben die Abreise auf den fünfzehnten März verschoben.",
        "fünfzehnten",
        "Wir haben den Termin auf den zwölften Mai verschoben.",
    ),
    (
        "Spanish",
        "El sábado recogimos la tarta de mi tía en la pastelería del puerto.",
        "pastelería",
        "El domingo recogimos a mi tía en la estación del norte.",
    ),
    (
        "Polish",
        "Źrebię urodziło się w nocy i już stoi na nogach.",
        "Źrebię",
        "Szczenię urodziło się rano i jeszcze śpi.",
    ),
    (
        "Turkish",
        "Iğdır'daki ağabeyim kayısı bahçesini sattı.",
        "kayısı",
        "İzmir'deki ablam zeytin bahçesini sattı.",
    ),
    (
        "Vietnamese",
        "Chị tôi vừa mua một chiếc thuyền gỗ cũ ở bến cảng.",
        "thuyền",
        "Anh tôi vừa bán một chiếc xe đạp cũ ở chợ.",
    ),
    (
        "Russian",
        "Наш кот Барсик любит спать на подоконнике возле фикуса.",
        "подоконнике",
        "Наш пёс Тузик любит спать на коврике возле двери.",
    ),
    (
        "Ukrainian",
        "Бабусин рецепт вареників лежить у синій скриньці.",
        "вареників",
        "Дідусева карта міста лежить у зеленій шухляді.",
    ),
    (
        "Greek",
        "Ο καπετάνιος ξέχασε την πυξίδα στο καφενείο.",
        "πυξίδα",
        "Ο ψαράς ξέχασε την ομπρέλα στο λεωφορείο.",
    ),
    (
        "Arabic",
        "وضعت أختي نظارة جدتي في الدرج الأزرق.",
        "نظارة",
        "وضعت أمي مفتاح البيت في الحقيبة الصغيرة.",
    ),
    (
        "Hebrew",
        "אחי שכח את המטרייה האדומה ברכבת לחיפה.",
        "המטרייה",
        "אחותי קנתה כרטיס לרכבת לירושלים.",
    ),
    (
        "Persian",
        "پدربزرگم هر جمعه باغچهٔ زعفران را آب می‌دهد.",
        "زعفران",
        "مادرم هر شنبه اتاق پذیرایی را مرتب می‌کند.",
    ),
    (
        "Chinese",
        "我妹妹对花生过敏，所以蛋糕里不能放。",
        "花生",
        "我哥哥喜欢喝绿茶，所以厨房里有很多。",
    ),
    (
        "Chinese, traditional",
        "祖父的望遠鏡放在閣樓的木箱裡。",
        "望遠鏡",
        "祖母的縫紉機放在客廳的窗戶旁。",
    ),
    (
        "Chinese, one character",
        "码头边有一只受伤的鹤。",
        "鹤",
        "码头边有一只白色的猫。",
    ),
    (
        "Japanese",
        "来週の火曜日に祖母の着物を京都の店へ持って行きます。",
        "着物",
        "来週の木曜日に弟の自転車を駅前の店へ持って行きます。",
    ),
    (
        "Japanese, katakana",
        "新しいサーバーの名前はペンギンに決めました。",
        "ペンギン",
        "新しいプリンターの場所は二階に決めました。",
    ),
    (
        "Korean",
        "할머니는 매일 아침 마당에서 고추를 말리신다.",
        "고추",
        "아버지는 매일 저녁 공원에서 체조를 하신다.",
    ),
    (
        "Thai",
        "พี่สาวของฉันแพ้กุ้งและกินได้แต่ปลา",
        "กุ้ง",
        "น้องชายของฉันชอบว่ายน้ำในทะเลตอนเช้า",
    ),
    (
        "Hindi",
        "मेरी बहन को आम का अचार बहुत पसंद है।",
        "अचार",
        "मेरे भाई को सुबह की चाय बहुत पसंद है।",
    ),
    (
        "Bengali",
        "আমার দাদার নৌকা নদীর ঘাটে বাঁধা আছে।",
        "নৌকা",
        "আমার বোনের সাইকেল বাড়ির উঠানে রাখা আছে।",
    ),
    (
        "Tamil",
        "என் அத்தை மல்லிகை தோட்டத்தை விற்றுவிட்டார்.",
        "மல்லிகை",
        "என் மாமா பழைய வீட்டை வாங்கிவிட்டார்.",
    ),
    (
        "Georgian",
        "ბებიამ ძველი სამოვარი სხვენში შეინახა.",
        "სამოვარი",
        "ბაბუამ ახალი სკამი ეზოში დადგა.",
    ),
    (
        "Amharic",
        "እህቴ የቡና ማሽኑን ለጎረቤት ሰጠች።",
        "ማሽኑን",
        "ወንድሜ አዲስ መጽሐፍ ከገበያ ገዛ።",
    ),
    (
        "identifier inside Chinese",
        "昨天的错误代码是QX-2290，重启后消失了。",
        "QX-2290",
        "昨天的错误代码是QX-2298，重启后又出现了。",
    ),
    (
        "identifier inside Russian",
        "Сервис слушает порт 7719 на машине chaika.",
        "7719",
        "Сервис слушает порт 7791 на машине lebed.",
    ),
]
