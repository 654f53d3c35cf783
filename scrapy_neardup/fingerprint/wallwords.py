"""Words by which web pages speak of the web, of themselves and to their visitor, by subject.

They are normalised, and in some thirty languages. A word stands for all words that begin with it; followed by
$ it stands for itself alone. What has a space in it may stand anywhere in a text, and so may what is of a
script in which words run together or take prefixes.
"""

from __future__ import annotations

# fmt: off
SUBJECTS = {
    "page": """stranic|страниц|lehek|puslap|lapa$|lapas$|página|page$|pages$|webpage|seite$|seiten$|pagina
        сторінк|stron|stránk|sida|sidor$|siden$|sider$|sivu$|sivua|sayfa|oldal|σελίδ|ページ|页面|頁面|网页
        網頁|本页|페이지|صفحة|صفحات|صفحه|halaman|trang này|หน้า|דף|העמוד|पृष्ठ|पेज""",
    "missing": """не съществува|nije pronađ|ne postoji|ni najden|ne obstaja|nerast|nav atrast|ei leitud
        ei eksisteeri|no existeix|no s'ha trobat|nenájd|neexistuje|nuk u gjet|not found|nothing here
        nothing was found|nothing found|no longer|does not exist|doesn't exist|doesn’t exist|taken down
        been removed|been moved|been deleted|not available|unavailable|can't find|cannot find|can't be found
        broken|expired|nicht mehr|nicht gefunden|existiert nicht|nicht verfügbar|nicht erreichbar
        gibt es nicht|nicht finden|entfernt|verschoben|gelöscht|introuvable|n'existe|n’existe|n'est plus
        n’est plus|supprimé|déplacé|indisponible|no existe|no disponible|no está disponible|ya no
        no se encontr|no encontr|no hemos encontrado|eliminad|movid|non esiste|non è più|non trovat
        non è disponibile|non disponibile|rimoss|spostat|não existe|não encontr|não está disponível
        não foi encontrad|indisponív|removid|bestaat niet|niet gevonden|niet meer|verwijderd|verplaatst
        nie istnieje|nie znalezion|nie została|nie został|usunięt|przeniesion|niedostępn|не найден|не нашл
        не существует|ничего нет|удален|удалён|перемещен|перемещён|перенесен|перенесён|недоступ|не знайден
        не існує|видален|nenalezen|nenašli|nebyla nalezena|odstraněn|přesunut|smazán|odstránen|finns inte
        hittades inte|hittar inte|hitta|tagits bort|flyttats|findes ikke|ikke fundet|finnes ikke|ikke finde
        fjernet|slettet|flyttet|ei löyty|ei löydy|poistettu|siirretty|bulunamad|silinmiş|taşınmış
        mevcut değil|kaldırıl|nem található|nem létezik|nem talál|törölt|nu există|nu a fost găsit|ștears
        δεν βρέθηκε|δεν υπάρχει|не е намерен|不存在|找不到|删除|刪除|未找到|没有找到|无法访问|無法|无法打开
        失效|下架|見つかり|削除|移動し|移動さ|存在し|終了|찾을 수 없|삭제|존재하지|변경되|없는|غير موجود
        لم يتم العثور|لا توجد|حذف|غير متاح|یافت نشد|وجود ندارد|tidak ditemukan|tidak tersedia|dihapus
        không tìm thấy|không tồn tại|đã bị xóa|ไม่พบ|לא נמצא|אינו קיים|नहीं मिल""",
    "address": """url$|urls$|link$|links$|address$|adresse$|dirección$|direccion$|enlace|lien$|liens$
        indirizzo|endereço|адрес$|адреса$|адресу$|ссылк|посиланн|adres$|adresu$|odkaz|länk|lenke|linkki
        linkin|osoite|osoitte|bağlantı|hivatkozás|σύνδεσμο|διεύθυνση|アドレス|リンク|网址|链接|網址|連結|주소
        링크|عنوان|الرابط|رابط|لینک|آدرس|tautan|alamat|liên kết|địa chỉ|ลิงก์|קישור|כתובת|लिंक""",
    "home": """начална|naslovn|početn|domač|pradžios|sākum|avaleh|pàgina principal|domov$|pàgina d'inici
        home page|homepage|front page|frontpage|main page|start page|go home|startseite|hauptseite
        titelseite|accueil|portada|página principal|página de inicio|página inicial|alla home|back home
        home button|voorpagina|strony główn|stronę główn|strona główn|главную|главной|головн|hlavní strán
        úvodní strán|domovsk|startsida|förstasida|forsid|etusivu|ana sayfa|anasayfa|kezdőlap|főoldal
        pagina principală|αρχική|トップページ|ホーム|首页|首頁|主页|홈으로|메인 페이지|메인으로|الرئيسية
        صفحه اصلی|beranda|trang chủ|หน้าแรก|דף הבית|מעבר לדף|मुखपृष्ठ""",
    "search": """търс|pretra|išči|iskan|paiešk|meklē|otsi|cerca$|cerques|vyhľad|search|suche$|suchen$
        suchfeld|suchfunktion|suchmaske|suchbegriff|suchergebn|moteur|recherche$|buscador|búsqueda|buscas$
        buscando|buscaba|ricerca$|motore|cercando|pesquis|busca$|procura$|zoek|szuka|wyszuk|поиск|пошук
        hledat|hledán|hledáte|hledan|vyhledá|hľad|sök$|söker|sökning|sökfält|sökrut|søg|søk|haku$|hakua
        haulla|arama$|aradığ|keresés|kereső|căutar|αναζήτησ|検索|お探し|搜索|搜尋|查找|검색|찾으시|بحث|البحث
        جستجو|pencarian|tìm kiếm|ค้นหา|חיפוש|खोज""",
    "browser": """browser|javascript|plugin|adblock|ad blocker|ad-blocker|werbeblocker|navigateur|navegador
        браузер|prohlížeč|przeglądar|webbläsar|nettleser|selain|selaime|tarayıcı|böngész
        πρόγραμμα περιήγησης|ブラウザ|浏览器|瀏覽器|插件|브라우저|متصفح|جافا سكريبت|مرورگر|peramban
        trình duyệt|เบราว์เซอร์|דפדפן|ब्राउज़र""",
    "cookies": """бискв|galet|kolačić|piškot|slapuk|sīkdat|küpsis|evästee|fursun|cookie|куки|クッキー
        ملفات تعريف الارتباط|الكوكيز|کوکی|쿠키|çerez|ciastecz|sütik|คุกกี้|עוגיות|evästei|कुकी""",
    "consent": """прием|съглас|pristan|prihva|privol|sutin|sutik|priim|piekrī|piekrit|nõust|nõus$|accepta$
        acceptar|acceptació|consentiment|přijat|prijať|prijat|odmiet|súhlasí|pranoj|tillad|tillåt|tillat
        consentement|تقبل|hylkää|consent|accept all|accept$|accepting|reject|refuse$|opt out|you agree
        zustimm|einwillig|akzeptier|ablehnen$|einverstanden|accepter|acceptez|acceptant|refuser|refusez
        aceptar|aceptas|acepta$|aceptarl|aceptando|rechaz|acconsent|accett|rifiut|aceitar|aceita$|recusar
        toestemming|akkoord|accepteren|accepteer|weiger|zgodę|zgody|zgadza|akcept|odrzu|согласие|соглашает
        согласны|принять|принима|приймаєте|згоду|souhlas|odmítn|přijm|súhlas|samtyck|godkänn|avböj|samtykk
        afvis|avvis|godta|hyväksy|hylk|kabul|onay|elfogad|elutasít|hozzájárul|acceptă|acceptați|consimț
        refuz|αποδοχή|αποδέχ|απόρριψη|συγκατάθ|同意|接受|拒绝|拒絕|동의|거부|موافق|الموافقة|قبول|رضایت|setuju
        menerima|đồng ý|chấp nhận|ยอมรับ|הסכמ|सहमति""",
    "privacy": """поверително|лични данни|privatnost|osobnih podataka|osobne podatke|приватност|zasebnost
        privatum|asmens duomen|privātum|personas dat|privaatsus|isikuandme|privacitat|dades personals
        ochrany osobných|osobných údajov|privatësi|privacy|datenschutz|privatsphäre|personenbezogen
        persönliche daten|persönlichen daten|vie privée|données personnelles|données à caractère
        confidentialité|privacidad|datos personales|dati personali|dados pessoais|persoonsgegevens|prywatno
        danych osobowych|dane osobowe|персональн|конфиденциал|конфіденц|osobních údajů|osobné údaje
        osobních dat|soukrom|súkrom|integritetspol|personuppgift|personoplysning|personopplysning|privatliv
        personvern|tietosuoj|henkilötie|yksityisyy|gizlilik|kişisel veri|adatvéd|személyes adat
        caracter personal|confidențial|προσωπικών δεδομένων|προσωπικά δεδομένα|απορρήτου|プライバシー|個人情報
        个人信息|隐私|隱私|個資|개인정보|الخصوصية|بيانات شخصية|البيانات الشخصية|حریم خصوصی|privasi|riêng tư
        ความเป็นส่วนตัว|פרטיות|गोपनीयता""",
    "advertising": """реклам|oglas|oglašav|treće strane|treti|trečiųj|trešo pušu|kolmandat|tercers
        publicitat|advertis|our partners|third part|third-part|analytics|personalis|personaliz|personnalis
        werbung|unsere partner|drittanbieter|publicité|publicitair|nos partenaires|publicidad
        nuestros socios|terceros|pubblicit|terze parti|parceiros|anúncios|anuncios|publicidade|advertent
        derden|reklam|annons|annonc|annonse|tredjepart|mainos|kolmans|hirdetés|διαφημ|広告|廣告|广告|第三方
        광고|إعلان|الإعلانات|تبلیغ|iklan|quảng cáo|โฆษณา|פרסו|विज्ञापन""",
    "password": """password|passwort|kennwort|mot de passe|contraseña|senha|palavra-passe|wachtwoord|hasło
        hasła|парол|heslo|hesla|heslem|lösenord|adgangskode|passord|salasana|şifre|parola$|jelszó|jelszav
        κωδικό πρόσβασης|パスワード|密码|密碼|비밀번호|كلمة المرور|كلمة السر|رمز عبور|kata sandi|mật khẩu
        รหัสผ่าน|סיסמ|पासवर्ड""",
    "log-in": """log in|sign in|login|logged in|signed in|signing in|einlogg|anmelden|angemeldet|anmeldung
        connectez|se connecter|me connecter|identifiez|connexion|iniciar sesión|inicia sesión|inicie sesión
        accedi$|accedere|iniciar sessão|inicie sessão|faça login|inlog|aanmelden|aangemeld|zaloguj|logowan
        zalogowan|войти|войдите|авториз|увійд|увійти|přihla|přihlá|prihlás|logga in|inlogg|log ind|logg inn
        innlogg|kirjaud|giriş yap|oturum aç|bejelentkez|autentific|conectați|συνδεθ|ログイン|登录|登入|登錄
        登陆|로그인|تسجيل الدخول|تسجيل دخول|وارد شوید|đăng nhập|silakan masuk|masuk ke akun|masuk untuk
        เข้าสู่ระบบ|התחבר|लॉग इन""",
    "register": """sign up|create an account|your account|an account|account$|registrier|registriere
        registrat|registrar|regístr|registrer|inscriv|inscription|konto$|benutzerkonto|compte$|cuenta$
        conta$|зарегистр|регистрац|аккаунт|учётн|учетн|зареєстр|обліков|účet$|účtu|zarejestr|rejestrac
        registrova|registruj|registrera|rekisteröi|tili$|kayıt ol|üye ol|hesab|regisztr|înregistra|εγγραφ
        λογαριασμ|会員登録|アカウント|注册|註冊|账户|账号|帳號|회원가입|계정|حساب|akun|đăng ký|tài khoản
        ลงทะเบียน|บัญชี|הרשמ|खाता""",
    "subscription": """subscri|premium|free trial|cancel any|abonn|abo$|suscri|abbonat|abbonam|assinante
        assine|assinatura|подписк|подпишит|подписчик|передплат|підписк|prenumer|předplat|predplat|tilaaj
        tilauk|abone|előfizet|abonament|abonează|συνδρομ|購読|有料|会員|订阅|訂閱|会员|會員|구독|اشتراك|مشترك
        اشترك|berlangganan|langganan|gói thuê|สมัครสมาชิก|מינוי|सदस्यता""",
    "robot": """captcha|robot|bot$|bots$|human$|automated|roboter|automatisiert|automatisé|automatizad
        автоматич|автоматиз|робот|zautomatyz|ロボット|机器人|機器人|로봇|روبوت|الآلية|آلية|自動化|自动|异常
        人机|ربات|แค่มนุษย์|บอท|רובוט|रोबोट""",
    "no robot": """not a robot|you are human|kein roboter|pas un robot|no soy un robot|no eres un robot
        no sóc un robot|non sono un robot|não sou um robô|geen robot|nie jestem robotem|не робот|не съм робот
        нисам робот|nejsem robot|nie som robot|nisam robot|nisem robot|inte en robot|ikke en robot
        en ole robotti|robot değilim|vagyok robot|nu sunt robot|nuk jam robot|ei ole robot|nesu robotas
        neesmu robots|δεν είμαι ρομπότ|ロボットではありません|不是机器人|不是機器人|로봇이 아닙니다|لست روبوت
        ربات نیستم|bukan robot|không phải là người máy|ไม่ใช่โปรแกรมอัตโนมัติ|ไม่ใช่หุ่นยนต์|לא רובוט|रोबोट नहीं""",
    "check": """check|verif|make sure|double-check|prüf|überprüf|bestätigen|stellen sie sicher|vérifi
        assurez|comprueb|compruébe|asegúr|controlla|verificar|confirm|controle|sprawd|zweryfik|upewnij
        проверьте|проверк|убедит|подтверд|перевір|підтверд|zkontroluj|ověř|skontroluj|kontroller|kontrollera
        tarkist|varmista|emin olun|doğrula|ellenőriz|megerősít|ελέγξτε|確認|检查|验证|驗證|檢查|확인|인증|تحقق
        نتحقق|تأكد|بررسی|periksa|pastikan|kiểm tra|xác minh|ตรวจสอบ|בדוק|जाँच""",
    "network": """ip$|ips$|ip address|ip-adress|vpn|proxy|firewall|network|traffic|requests$|server|netzwerk
        anfragen|zugriffe|serveur|requêtes|réseau|servidor|solicitudes|peticiones|richieste|rete$|pedidos
        netwerk|verzoeken|zapyta|sieci$|сервер|запрос|трафик|запит|požadav|förfrågn|nätverk|forespørs
        palvelin|pyyntö|sunucu|istek|kérés|szerver|cereri|διακομιστ|サーバ|ネットワーク|流量|代理|服务器|请求
        伺服器|서버|요청|네트워크|خادم|الخادم|الطلبات|الشبكة|سرور|permintaan|máy chủ|เซิร์ฟเวอร์|שרת|सर्वर""",
    "blocked": """forbidden|have permission|in a queue|the queue|keine berechtigung|prohibid|tiene permiso
        interdit|vietato|proibid|tem permissão
        blocked|denied|restricted|suspicious|unusual|gesperrt|blockiert|verweigert|ungewöhnlich
        bloqué|refusé|inhabituel|bloquead|denegad|inusual|bloccat|negato|insolit|negado|incomum|geblokkeerd
        geweigerd|ongebruikelijk|zablokow|odmówion|nietypow|заблок|запрещ|ограничен|подозрит|необычн
        заборонен|zablokov|zamítnut|odepřen|neobvykl|blockerad|nekad|blokeret|blokkert|estetty|engellen
        letilt|megtagad|blocat|interzis|αποκλε|制限|ブロック|拒否|限制|拦截|封鎖|频繁|頻繁|차단|제한|محظور|حظر
        مرفوض|مسدود|diblokir|ditolak|bị chặn|bị từ chối|ถูกบล็อก|נחסמ|अवरुद्ध""",
    "again": """try again|try your|retry|please wait|a moment|reload|refresh|come back|back soon
        versuchen sie|versuche es|später erneut|noch einmal|neu laden|einen moment|réessay|plus tard
        patiente|rechargez|actualise|intént|inténtal|vuelve a|vuelva a|reintent|más tarde|recarga|riprov
        più tardi|ricarica|attendere|attendi|tente novamente|tente de novo|mais tarde|aguarde|recarregue
        probeer|opnieuw|even geduld|spróbuj|odśwież|później|poczekaj|попробуйте|повторите|позже|подождите
        обновите|спробуйте|пізніше|зачекайте|zkuste|později|počkejte|obnovte|skúste|försök|senare|vänta
        ladda om|prøv ig|prøv å|senere|yritä|myöhemmin|odota|tekrar|daha sonra|bekleyin|próbál|később
        frissíts|încerca|mai târziu|δοκιμάστε|προσπαθήστε|αργότερα|もう一度|再度|しばらく|お待ち|再読み込み
        稍后|稍候|稍等|重试|重新|稍後|重試|刷新|再试|잠시|다시|새로고침|حاول|المحاولة|الانتظار|إعادة تحميل
        أعد تحميل|دوباره|coba lagi|nanti|thử lại|ลองใหม่|อีกครั้ง|נסה|נסו|पुनः""",
    "apology": """съжалява|извиня|žao|isprič|oprost|atsipraš|atvain|vabanda|kahjuks|ho sentim|ľutuj|mrzí
        sorry|oops|whoops|apolog|inconvenience|unfortunately|leider|entschuldig|verständnis|ups$|hoppla
        désolé|oups|regrett|malheureus|lo sentimos|disculp|perdón|spiacent|ci dispiace|ci scusiamo|desculp
        lamentamos|helaas|excuses|ongemak|przeprasz|przykro nam|niestety|utrudnien|извин|сожалени|неудобств
        вибач|на жаль|bohužel|omlouv|ospravedl|tyvärr|ursäkt|ledsen|beklag|desværre|dessverre|valitettav
        pahoittel
        üzgün|maalesef|özür|sajnál|sajnos|elnézés|ne pare rău|ne cerem scuze|λυπούμαστε|συγγνώμη|δυστυχώς
        申し訳|恐れ入り|お手数|ご迷惑|ご不便|抱歉|对不起|對不起|谅解|諒解|不便|죄송|불편|عذرا|نأسف|نعتذر|متاسف
        متأسف|maaf|xin lỗi|rất tiếc|ขออภัย|מצטער|סליחה|क्षमा|खेद""",
    "please": """моля|molimo|prosim$|prašom|lūdzu|palun|si us plau|prosím|ju lutem|please|bitte|veuillez
        s'il vous plaît|s’il vous plaît|merci de|por favor|per favore|si prega|gelieve|alstublieft|prosimy
        proszę|пожалуйста|будь ласка|vänligen|venligst|vennligst|lütfen|kérjük|vă rugăm|παρακαλ|ください
        下さい|お願い|,请|,請|。请|。請|请您|請您|请联系|请检查|请输入|请稍|敬请|주세요|주시기|바랍니다|하세요
        십시오|يرجى|الرجاء|من فضلك|لطفا|silakan|silahkan|mohon|vui lòng|กรุณา|โปรด|אנא|कृपया""",
    "visitor": """вие$|ви$|vi$|vaš|vam$|jūs$|jūsų|teie$|teile$|vostè|els vostres|vám$|vašich|ju$|you$|your$
        yours$|you're$|you've$|können sie|haben sie|wenn sie|finden sie|sie können|sie haben|möchten sie
        sind sie|ihrer zustimmung|ihre auswahl|vous$|votre$|vos$|usted|tu$|tus$|puedes|podrás|hayas$|tienes$
        tuo$|tua$|tuoi$|puoi$|hai$|você|sua$|seu$|uw$|jouw$|je$|możesz|twój|twoj|twoich|znajdziesz|вы$|вас$
        вам$|ваш$|ваша$|ваши$|ваше$|вашего|вашей|вашим|váš$|vaše$|můžete|jste$|vás$|môžete|du$|din$|dig$
        ditt$|dit$|deg$|voit$|sinun$|sinä$|olet$|edebilirsiniz|iniz$|ınız$|ön$|önnek|puteți|dumneavoastră
        σας$|お使い|お客様|いただ|頂き|ご利用|ご確認|您|고객|하시|시려면|셨습니다|bạn|anda$|คุณ|שלך|شما
        आपके|आप""",
    "site": """lloc web|web mjest|stranica koristi|veb|vietn|svetain|lehekülg|veebile|spletn|stránka použ
        сајт|faqja|website|site$|sites$|webseite|webseiten|internetauftritt|webbplats|sitio|sito$|сайт
        serwis|portal|webu$|webov|stránkách|hjemmeside|nettsted|sivusto|web sitesi|weboldal|webhely|ιστότοπ
        ιστοσελίδ|サイト|网站|網站|本站|사이트|موقع|سایت|situs|trang web|เว็บไซต์|האתר|אתר|वेबसाइट|साइट""",
    "help": """contact us|contact the|contact our|contact support|help desk|helpdesk|help center|help centre
        support$|support team|customer service|our team|let us know|tell us|write to us|webmaster
        administrator|kundendienst|kundenservice|leserservice|wenden sie sich|kontaktieren|contactez
        nous contacter|nous signaler|service client|contáct|póngase|escríb|atención al cliente|contattac
        contatta$|assistenza|segnala|redazione|contacte|contato|contate|suporte|klantenservice|neem contact
        contact op|skontaktuj|napisz|obsługi klienta|redakcj|напишите|свяжитесь|связаться|поддержк|звʼяж
        kontaktujte|napište|podporu|kundtjänst|kontakta|kundeservice|kontakt os|kontakt oss|asiakaspalv
        ota yhteyttä|bize bildir|bize ulaş|iletişim|ügyfélszolg|contactați|επικοινων|お問い合わせ
        お知らせください|ご連絡|联系|客服|聯繫|聯絡|管理员|문의|고객센터|اتصل|تواصل|تماس|hubungi|liên hệ
        ติดต่อ|צור קשר|פנה|संपर्क""",
    "error": """error|mistake|typo|typing|misspel|mistyped|code$|fehler|tippfehler|erreur|código|fallo$
        errore|codice|erro$|fout|błąd|błęd|kod$|ошибк|опечатк|код$|помилк|chyb|preklep|překlep|fel$|felkod
        feil|fejl|virhe|hata$|hatası|hiba$|hibás|elírás|eroare|greșeal|σφάλμα|エラー|間違い|番号|错误|有误
        錯誤|编号|오류|خطأ|خطا|kesalahan|galat|lỗi|ข้อผิดพลาด|שגיאה|त्रुटि|404$|403$|429$|503$|451$|id$""",
    "access": """access|permission|zugriff|zugang|accès|accéd|acceso|acceder|accesso|acesso|aceder|toegang
        dostęp|доступ|přístup|prístup|åtkomst|adgang|tilgang|pääsy|erişim|hozzáfér|acces$|accesul|πρόσβασ
        アクセス|閲覧|访问|浏览|存取|瀏覽|접근|접속|이용|الوصول|دسترسی|akses|truy cập|เข้าถึง|גישה|पहुँच
        your country|your region|your location|gdpr|dsgvo|rgpd|economic area|in ihrem land|votre pays|tu país
        вашей стране|вашем регионе""",
    "age": """years old|years of age|legal age|drinking age|date of birth|over 18|volljährig|18 jahre
        mayor de edad|mayores de edad|majeur|18 ans|18 años|18 anni|maggiorenn|maior de idade|maiores de
        18 anos|18 jaar|pełnoletn|18 lat|18 лет|совершеннолет|18 років|повнолітн|18 let|plnolet|myndig|18 år
        täysi-ikä|18 vuot|18 yaş|nagykorú|18 éves|18 ani|ενήλικ|18 ετών|18歳|二十歳|年齢|年满|未成年|成年|성인
        만 19세|연령|18 عاما|18 سال|18 tahun|18 tuổi|18 ปี|גיל 18""",
    "continue": """continue$|continuing|to read on|keep reading|unlock|weiterlesen|weiter lesen|fortfahren
        continuer|poursuiv|lire la suite|continuar|seguir leyendo|sigues|sigue leyendo|continuare|proseguire
        doorgaan|verder lezen|lees verder|kontynu|czytać dalej|продолжая|продолжить|продовж|pokračov
        číst dál|fortsätt|läsa vidare|fortsett|fortsæt|læs videre|les videre|jatka|devam et|folytat
        continua$|continuați|συνέχ|続き|続け|次に進|继续|繼續|계속|متابعة|للمتابعة|ادامه|melanjutkan|lanjutkan
        tiếp tục|ดำเนินการต่อ|המשך|जारी""",
    "click": """click|tap$|button|tick the|klick|cliqu|clic$|haz clic|pulsa|clicca|clique|klik|нажм|нажат
        кнопк|натисн|stiskn|tıkla|butonu|kattint|apăsa|clic pe|πατήσ|κλικ|クリック|押し|ボタン|タップ|点击
        點擊|按钮|클릭|버튼|누르|انقر|اضغط|کلیک|nhấn|nhấp|คลิก|לחץ|לחצו|क्लिक""",
    "settings": """настройк|postavk|podešav|nastavitv|nustatym|iestatīj|seaded|seadist|configuració
        prispôsob|personalitz|preferènc|settings|preferences|choices|menu$|einstellung|auswahl|menü|paramètr
        réglag|préférenc|configura|ajustes|preferencias|menú|impostaz|preferenz|definições|preferências
        instelling|voorkeur|ustawie|preferencj|настроить|налаштув|nastaven|inställ|indstilling|innstilling
        asetuks|ayar|tercih|beállít|setări|preferinț|ρυθμίσ|προτιμήσ|設定|メニュー|设置|設置|菜单|설정|메뉴
        الإعدادات|القائمة|تنظیم|pengaturan|cài đặt|การตั้งค่า|הגדרות|सेटिंग""",
    "maintenance": """maintenance|temporarily|wartung|vorübergehend|temporair|momentaném|mantenimiento
        temporal$|temporalmente|manutenzione|temporaneam|manutenção|temporariam|onderhoud|tijdelijk
        konserwac|prace techn|tymczas|chwilowo|обслуживани|технические работы|технических работ|временно
        технічн|тимчасово|údržb|dočasn|underhåll|tillfällig|vedligehold|vedlikehold|midlertidig|huolto
        tilapäis|bakım|geçici|karbantart|átmenet|mentenanț|temporar|συντήρησ|προσωριν|メンテナンス|一時的|维护
        維護|升级|暂时|暫時|점검|일시|صيانة|مؤقت|تعمیر|pemeliharaan|sementara|bảo trì|tạm thời|ปรับปรุง
        ชั่วคราว|תחזוק|रखरखाव""",
    "terms": """terms of use|terms of service|terms and conditions|full terms|terms apply|rights reserved
        nutzungsbedingung|agb$|conditions d|conditions générales|condiciones de uso|términos|condizioni
        termini|termos de|voorwaarden|regulamin|условиями|пользовательск|правилах|умови|podmínk|podmienk
        villkor|vilkår|käyttöehd|ehdot|koşul|feltétel|termenii|όρους|όροι|規約|条款|條款|协议|약관|الشروط|شروط
        syarat|điều khoản|ข้อกำหนด|תנאי|नियम""",
    "shop": """cart$|basket$|checkout|our shop|our store|the store|online store|online shop|orders$
        warenkorb|bestellung|onlineshop|panier|commande|boutique|carrito|pedido|tienda|carrello|ordini
        negozio|carrinho|loja$|encomenda|winkel|bestelling|koszyk|zamówie|sklep|корзин|заказ|магазин|кошик
        замовл|košík|objednáv|obchod|varukorg|kundvagn|butik|beställ|bestilling|kurv|nettbutikk|ostoskor
        verkkokaup|sepet|sipariş|mağaza|kosár|rendelés|webáruház|coș|comenzi|magazin|καλάθι|παραγγελ
        κατάστημα|カート|注文|ショップ|购物车|订单|購物車|訂單|店铺|장바구니|주문|쇼핑몰|السلة|المتجر|متجر
        فروشگاه|keranjang|toko$|giỏ hàng|cửa hàng|ตะกร้า|ร้านค้า|עגלה|חנות|कार्ट""",
    "results": """no results|search results|did not match|didn't match|keyword|spelled|spelling|filters
        headings|treffer|schreibweise|aucun résultat|mots-clés|orthographe|resultados|palabra|ortograf
        nessun risultato|risultati|parole chiave|palavras-chave|geen resultaten|zoekterm|trefwoord
        brak wyników|wyników|słow|ничего не нашлось|результат|ключев|ключов|výsled|klíčov|inga träffar
        träffar|sökord|ingen resultater|søgeord|søkeord|ei tuloksia|hakutulos|hakusan|sonuç|anahtar|találat
        kulcssz|niciun rezultat|rezultat|αποτελέσματα|該当|キーワード|件数|没有结果|关键词|關鍵字|结果|결과
        검색어|نتائج|نتیجه|hasil|kết quả|từ khóa|ผลการค้นหา|คำค้น|תוצאות|परिणाम""",
}
# fmt: on
