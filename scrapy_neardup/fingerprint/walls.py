"""Pages that stand in the way of the page asked for: captchas, cookie and log-in walls, soft 404s.

They repeat by nature, and what stands at their URL is another page. Two signs give them away: what they say, here,
and that one short text is met on many sites, see `scrapy_neardup.spread`.
"""

from __future__ import annotations

#: Longer texts are no walls, whatever they say. Unit: tokens.
LONGEST = 150
#: One phrase may be the subject of a short note; so many different ones are not.
_PHRASES_OF_A_WALL = 2
# Parts of normalised text, in the languages with the most pages.
# fmt: off
_PHRASES = (
    # Bot checks and scripts
    "captcha", "not a robot", "you are human", "you're human", "unusual traffic", "checking your browser",
    "security check", "access denied", "been blocked", "automated requests", "ray id:", "reference id",
    "enable javascript", "javascript is disabled", "enable cookies", "supported browser", "turn off your ad",
    "kein roboter", "javascript aktivieren", "pas un robot", "activer javascript", "activez javascript",
    "no eres un robot", "no soy un robot", "habilita javascript", "не робот", "включите javascript",
    "验证码", "人机验证", "安全验证", "启用javascript", "開啟javascript", "ロボットではありません", "لست روبوت",
    # Cookies and consent
    "use cookies", "uses cookies", "accept all", "accept cookies", "cookie policy", "cookie settings",
    "your consent", "we and our partners", "privacy policy", "reject all", "manage preferences", "your privacy choices",
    "verwenden cookies", "alle akzeptieren", "datenschutz", "utilisons des cookies", "tout accepter",
    "utilizamos cookies", "aceptar todas", "política de privacidad", "файлы cookie", "используем cookie",
    "конфиденциальност", "使用cookie", "隐私政策", "接受所有", "クッキー", "ملفات تعريف الارتباط",
    # Log-in and subscription
    "log in to continue", "log in to your account", "sign in to continue", "sign in to your account",
    "please log in", "please sign in", "forgot your password", "create an account",
    "already a subscriber", "subscribe to continue", "to continue reading", "free articles", "already registered",
    "passwort vergessen", "bitte melden sie sich an", "mot de passe oublié", "connectez-vous", "inicia sesión",
    "войдите", "забыли пароль", "请登录", "忘记密码", "注册账号", "ログインして", "تسجيل الدخول",
    # Pages that are not there
    "error 404", "404 error", "404 not found", "fehler 404", "erreur 404", "ошибка 404",
    "page not found", "cannot be found", "could not be found", "no longer exists", "no longer available",
    "find that page", "find this page", "find the page", "may have been moved", "or never existed", "page does not exist",
    "page you requested", "page you are looking for", "page you were looking for", "mistyped the address",
    "may have moved", "has been moved or", "broken link", "return to the home", "go to the home", "try searching",
    "seite nicht gefunden", "zur startseite", "page introuvable", "retour à l'accueil", "página no encontrada",
    "страница не найдена", "на главную страницу", "вернуться на главную", "页面不存在", "找不到页面", "返回首页", "ページが見つかりません",
)
# fmt: on


def is_wall(text: str, tokens: int) -> bool:
    """Tell whether normalised *text* of so many *tokens* reads like a wall."""
    if tokens > LONGEST:
        return False
    return sum(phrase in text for phrase in _PHRASES) >= _PHRASES_OF_A_WALL
