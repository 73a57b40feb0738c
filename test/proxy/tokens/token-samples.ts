/**
 * What real deltas carry: text in languages and scripts, code, JSON, mark-up, and how many tokens two public tokenizers
 * take each for: o200k (gpt-tokenizer 4.0.0) and the last one that Anthropic has published (@anthropic-ai/tokenizer
 * 0.0.4, of its models before 2024). `measure-tokens.ts` counts again; neither is a dependency of this project.
 */
export const TOKEN_SAMPLES: readonly TokenSample[] = [
  {
    name: 'english',
    o200k: 94,
    anthropic: 92,
    text: 'The committee met on Tuesday to discuss the new water treatment plant, which has been delayed twice since 2019. Although most members agreed that the old facility could not be repaired any longer, there was no consensus about who should pay for its replacement. "We cannot ask residents for another increase," said the treasurer, "not after what happened last year." In the end they decided to ask an independent engineer for a second opinion and to meet again in three weeks.',
  },
  {
    name: 'markdown',
    o200k: 123,
    anthropic: 141,
    text: "## Summary\n\nHere's what I found:\n\n1. **The cache is never invalidated.** When `updateUser()` runs, the entry under `user:42` stays as it was.\n2. **Two tests depend on each other.** `auth.test.ts` leaves a session behind that `profile.test.ts` needs.\n\n| File | Lines | Change |\n|------|-------|--------|\n| `src/cache.ts` | 12-40 | delete on write |\n| `test/auth.test.ts` | 88 | clean up |\n\nLet me know if you'd like me to apply both fixes!",
  },
  {
    name: 'typescript',
    o200k: 113,
    anthropic: 129,
    text: 'export async function readPages<T>(source: AsyncIterable<T[]>, options: { max?: number } = {}): Promise<T[]> {\n  const items: T[] = [];\n  for await (const page of source) {\n    items.push(...page);\n    if (options.max !== undefined && items.length >= options.max) return items.slice(0, options.max);\n  }\n  return items;\n}\n\nfunction isRetryable(error: unknown): boolean {\n  return error instanceof HttpError && (error.status === 429 || error.status >= 500);\n}\n',
  },
  {
    name: 'python',
    o200k: 104,
    anthropic: 111,
    text: 'def parse_rows(path: str, *, delimiter: str = ",") -> list[dict[str, str]]:\n    """Read a CSV file and return its rows as dictionaries."""\n    with open(path, newline="", encoding="utf-8") as handle:\n        reader = csv.DictReader(handle, delimiter=delimiter)\n        rows = [row for row in reader if any(value.strip() for value in row.values())]\n    if not rows:\n        raise ValueError(f"{path}: no rows")\n    return rows\n',
  },
  {
    name: 'toolJson',
    o200k: 69,
    anthropic: 81,
    text: '{"file_path":"/home/user/project/src/components/Invoice.tsx","old_string":"const total = items.reduce((sum, item) => sum + item.price, 0);","new_string":"const total = items.reduce((sum, item) => sum + item.price * item.quantity, 0);","replace_all":false}',
  },
  {
    name: 'dataJson',
    o200k: 135,
    anthropic: 135,
    text: '{"orders":[{"id":"ord_8f3a91","customer":{"name":"Maria Keller","city":"Zürich"},"items":[{"sku":"A-1044","qty":3,"price":19.95},{"sku":"B-2210","qty":1,"price":249.0}],"placed_at":"2026-03-14T09:26:53Z","paid":true},{"id":"ord_8f3a92","customer":{"name":"Jonas Weber","city":"Bern"},"items":[],"placed_at":"2026-03-14T10:02:11Z","paid":false}]}',
  },
  {
    name: 'numbers',
    o200k: 131,
    anthropic: 129,
    text: '3.14159265, 2.71828182, 1.41421356, 1.61803398\n192.168.0.12 - 10.0.0.254 - 172.16.31.7\n550e8400-e29b-41d4-a716-446655440000\n2026-01-31T23:59:59.999Z 1767225599\n7f83b1657ff1fc53b92dc18148a1d65dfc2d4b1fa3d677284addd200126d9069',
  },
  {
    name: 'german',
    o200k: 79,
    anthropic: 116,
    text: 'Der Ausschuss hat am Dienstag über das neue Klärwerk beraten, dessen Bau sich seit 2019 zweimal verzögert hat. Zwar waren sich die meisten Mitglieder einig, dass die alte Anlage nicht mehr repariert werden kann, doch wer den Ersatz bezahlen soll, blieb offen. Schließlich wurde beschlossen, ein unabhängiges Gutachten einzuholen und in drei Wochen erneut zusammenzukommen.',
  },
  {
    name: 'french',
    o200k: 76,
    anthropic: 106,
    text: "Le comité s'est réuni mardi pour examiner la nouvelle station d'épuration, dont la construction a été retardée deux fois depuis 2019. La plupart des membres étaient d'accord pour dire que l'ancienne installation ne pouvait plus être réparée, mais personne ne savait qui devait payer son remplacement. Ils ont finalement décidé de demander un second avis à un ingénieur indépendant.",
  },
  {
    name: 'spanish',
    o200k: 81,
    anthropic: 114,
    text: 'El comité se reunió el martes para hablar de la nueva planta de tratamiento de agua, que se ha retrasado dos veces desde 2019. Aunque la mayoría de los miembros coincidía en que la instalación antigua ya no podía repararse, no hubo acuerdo sobre quién debía pagar la nueva. Al final decidieron pedir una segunda opinión a una ingeniera independiente y volver a reunirse dentro de tres semanas.',
  },
  {
    name: 'polish',
    o200k: 93,
    anthropic: 124,
    text: 'Komisja zebrała się we wtorek, aby omówić nową oczyszczalnię ścieków, której budowa opóźniła się już dwukrotnie od 2019 roku. Większość członków zgodziła się, że starego obiektu nie da się dłużej naprawiać, jednak nie ustalono, kto powinien zapłacić za nowy.',
  },
  {
    name: 'russian',
    o200k: 86,
    anthropic: 176,
    text: 'Комитет собрался во вторник, чтобы обсудить новую очистную станцию, строительство которой с 2019 года откладывалось дважды. Большинство участников согласились, что старое здание больше нельзя отремонтировать, но так и не решили, кто должен заплатить за новое. В конце концов они решили обратиться к независимому инженеру и встретиться снова через три недели.',
  },
  {
    name: 'greek',
    o200k: 73,
    anthropic: 243,
    text: 'Η επιτροπή συνεδρίασε την Τρίτη για να συζητήσει τη νέα μονάδα επεξεργασίας νερού, η οποία έχει καθυστερήσει δύο φορές από το 2019. Τα περισσότερα μέλη συμφώνησαν ότι η παλιά εγκατάσταση δεν μπορεί πλέον να επισκευαστεί.',
  },
  {
    name: 'arabic',
    o200k: 67,
    anthropic: 207,
    text: 'اجتمعت اللجنة يوم الثلاثاء لمناقشة محطة معالجة المياه الجديدة التي تأخر بناؤها مرتين منذ عام 2019. ورغم أن معظم الأعضاء اتفقوا على أن المنشأة القديمة لم يعد من الممكن إصلاحها، لم يكن هناك إجماع على من يجب أن يدفع ثمن استبدالها.',
  },
  {
    name: 'hebrew',
    o200k: 69,
    anthropic: 150,
    text: 'הוועדה התכנסה ביום שלישי כדי לדון במתקן החדש לטיפול במים, שבנייתו התעכבה פעמיים מאז 2019. רוב החברים הסכימו שאי אפשר עוד לתקן את המתקן הישן, אך לא הייתה הסכמה מי ישלם על החלפתו.',
  },
  {
    name: 'hindi',
    o200k: 70,
    anthropic: 256,
    text: 'समिति ने मंगलवार को नए जल उपचार संयंत्र पर चर्चा करने के लिए बैठक की, जिसमें 2019 से दो बार देरी हो चुकी है। अधिकांश सदस्य इस बात पर सहमत थे कि पुरानी सुविधा की अब मरम्मत नहीं की जा सकती, लेकिन इस पर कोई सहमति नहीं बनी कि नई सुविधा का भुगतान कौन करेगा।',
  },
  {
    name: 'thai',
    o200k: 70,
    anthropic: 317,
    text: 'คณะกรรมการได้ประชุมกันเมื่อวันอังคารเพื่อหารือเกี่ยวกับโรงบำบัดน้ำแห่งใหม่ ซึ่งล่าช้ามาแล้วสองครั้งตั้งแต่ปี 2019 แม้ว่าสมาชิกส่วนใหญ่จะเห็นพ้องกันว่าอาคารเก่าไม่สามารถซ่อมแซมได้อีกต่อไป',
  },
  {
    name: 'chinese',
    o200k: 84,
    anthropic: 115,
    text: '委员会于星期二开会,讨论新建的污水处理厂。自2019年以来,该项目已经推迟了两次。虽然大多数成员都认为旧设施已经无法修复,但对于由谁来支付更换费用,大家没有达成一致意见。最后,他们决定请一位独立工程师提供第二意见,并在三周后再次开会。',
  },
  {
    name: 'japanese',
    o200k: 84,
    anthropic: 115,
    text: '委員会は火曜日に会合を開き、2019年以来二度も延期されている新しい浄水場について話し合いました。古い施設はもう修理できないという点では多くの委員の意見が一致しましたが、建て替えの費用を誰が負担するのかについては結論が出ませんでした。',
  },
  {
    name: 'korean',
    o200k: 75,
    anthropic: 129,
    text: '위원회는 화요일에 회의를 열어 2019년 이후 두 차례나 지연된 새 정수장에 대해 논의했다. 대부분의 위원들은 낡은 시설을 더 이상 수리할 수 없다는 데 동의했지만, 교체 비용을 누가 부담해야 하는지에 대해서는 합의하지 못했다.',
  },
  {
    name: 'vietnamese',
    o200k: 74,
    anthropic: 188,
    text: 'Ủy ban đã họp vào thứ Ba để thảo luận về nhà máy xử lý nước mới, vốn đã bị trì hoãn hai lần kể từ năm 2019. Mặc dù hầu hết các thành viên đều đồng ý rằng cơ sở cũ không thể sửa chữa được nữa, nhưng vẫn chưa thống nhất ai sẽ trả tiền cho việc thay thế.',
  },
  {
    name: 'emoji',
    o200k: 34,
    anthropic: 45,
    text: '🎉 Great news! 🚀✨ Your app is live 👩‍💻👨‍💻 — thanks for your patience 🙏😊❤️🔥💯',
  },
  {
    name: 'chat',
    o200k: 55,
    anthropic: 58,
    text: "Sure! Happy to help. So basically you'll want to start with the dry ingredients, then slowly add the milk while whisking. Don't worry if it looks lumpy at first, that's normal. Let it rest for about 10 minutes and you're good to go. Enjoy!",
  },
  {
    name: 'legal',
    o200k: 47,
    anthropic: 50,
    text: 'Notwithstanding the foregoing, the indemnifying party shall have no obligation under this Section to the extent that the alleged infringement arises from modifications made by anyone other than the indemnifying party, provided that such modifications were neither authorized nor reasonably foreseeable.',
  },
  {
    name: 'sql',
    o200k: 77,
    anthropic: 90,
    text: "SELECT c.id, c.name, COUNT(o.id) AS orders, SUM(o.total) AS revenue\nFROM customers c\nLEFT JOIN orders o ON o.customer_id = c.id AND o.created_at >= '2026-01-01'\nGROUP BY c.id, c.name\nHAVING SUM(o.total) > 1000\nORDER BY revenue DESC\nLIMIT 20;",
  },
  {
    name: 'html',
    o200k: 95,
    anthropic: 105,
    text: '<div class="card mb-3">\n  <img src="/img/cover.png" class="card-img-top" alt="Cover">\n  <div class="card-body">\n    <h5 class="card-title">Getting started</h5>\n    <p class="card-text">Install the package and run the setup script.</p>\n    <a href="/docs" class="btn btn-primary">Read more</a>\n  </div>\n</div>\n',
  },
  {
    name: 'shell',
    o200k: 73,
    anthropic: 81,
    text: 'set -euo pipefail\nfor f in $(git diff --name-only origin/main...HEAD -- \'*.ts\'); do\n  npx eslint --fix "$f" || exit 1\ndone\ndocker build -t registry.example.com/app:$(git rev-parse --short HEAD) .\nkubectl rollout status deploy/app --timeout=120s\n',
  },
  {
    name: 'latex',
    o200k: 63,
    anthropic: 54,
    text: '$$\\int_{0}^{\\infty} e^{-x^2}\\,dx = \\frac{\\sqrt{\\pi}}{2}, \\qquad \\sum_{n=1}^{\\infty} \\frac{1}{n^2} = \\frac{\\pi^2}{6}$$',
  },
  {
    name: 'c',
    o200k: 93,
    anthropic: 111,
    text: 'static int parse_header(const uint8_t *buf, size_t len, struct header *out)\n{\n\tif (len < HEADER_SIZE)\n\t\treturn -EINVAL;\n\tout->version = buf[0] >> 4;\n\tout->flags = buf[0] & 0x0f;\n\tout->length = ntohs(*(const uint16_t *)(buf + 2));\n\treturn out->length > len ? -EMSGSIZE : 0;\n}\n',
  },
  {
    name: 'indented',
    o200k: 33,
    anthropic: 33,
    text: '        if user is None:\n            return None\n\n        for role in user.roles:\n            if role.name == "admin":\n                return True\n\n        return False\n',
  },
  {
    name: 'portuguese',
    o200k: 57,
    anthropic: 82,
    text: 'A comissão reuniu-se na terça-feira para discutir a nova estação de tratamento de água, que sofreu dois atrasos desde 2019. Embora a maioria dos membros concordasse que a instalação antiga já não podia ser reparada, não houve consenso sobre quem deveria pagar a substituição.',
  },
  {
    name: 'turkish',
    o200k: 70,
    anthropic: 110,
    text: "Komite, 2019'dan bu yana iki kez ertelenen yeni su arıtma tesisini görüşmek üzere salı günü toplandı. Üyelerin çoğu eski tesisin artık onarılamayacağı konusunda hemfikir olsa da yenisinin parasını kimin ödeyeceği konusunda anlaşmaya varılamadı.",
  },
  {
    name: 'ukrainian',
    o200k: 84,
    anthropic: 137,
    text: 'Комітет зібрався у вівторок, щоб обговорити нову очисну станцію, будівництво якої з 2019 року двічі відкладали. Більшість членів погодилися, що стару споруду вже не можна відремонтувати, але не вирішили, хто має заплатити за нову.',
  },
  {
    name: 'indonesian',
    o200k: 65,
    anthropic: 101,
    text: 'Komite bertemu pada hari Selasa untuk membahas instalasi pengolahan air yang baru, yang telah dua kali tertunda sejak 2019. Meskipun sebagian besar anggota setuju bahwa fasilitas lama tidak dapat diperbaiki lagi, belum ada kesepakatan tentang siapa yang harus membayar penggantinya.',
  },
  {
    name: 'chinese2',
    o200k: 48,
    anthropic: 60,
    text: '您好!很高兴为您提供帮助。要解决这个问题,首先请检查网络连接是否正常,然后重新启动应用程序。如果问题仍然存在,请把错误信息发给我,我会进一步分析原因。',
  },
  {
    name: 'japanese2',
    o200k: 52,
    anthropic: 85,
    text: 'ご質問ありがとうございます。まず、設定ファイルが正しい場所に置かれているか確認してください。それでも動かない場合は、エラーメッセージを教えていただければ、原因を一緒に調べます。',
  },
  {
    name: 'bengali',
    o200k: 55,
    anthropic: 297,
    text: 'কমিটি মঙ্গলবার নতুন জল শোধনাগার নিয়ে আলোচনা করতে বৈঠকে বসেছিল, যা ২০১৯ সাল থেকে দুবার পিছিয়ে গেছে। বেশিরভাগ সদস্য একমত হয়েছেন যে পুরানো সুবিধাটি আর মেরামত করা যাবে না।',
  },
  {
    name: 'base64',
    o200k: 53,
    anthropic: 54,
    text: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  },
  {
    name: 'yamlish',
    o200k: 46,
    anthropic: 45,
    text: 'apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: gateway\n  labels:\n    app: gateway\nspec:\n  replicas: 3\n  selector:\n    matchLabels:\n      app: gateway\n',
  },
];

interface TokenSample {
  readonly name: string;
  readonly o200k: number;
  readonly anthropic: number;
  readonly text: string;
}
