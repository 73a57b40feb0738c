/**
 * What is taken for a secret, by two rules. A false alarm in free text costs a word of it, so there all is hidden that is not
 * plainly words. A name costs more: by it an operator finds the file or the variable, so that one is refused only where it
 * has what secrets have, or, without being words, names nothing.
 */

/** A JWT, a key that begins as those of its issuer, PEM, or a run of characters with a digit that is longer than any word. */
const SECRET_LIKE =
  /(?<![\w-])e[wy][\w-]{6,}\.[\w-]{8,}\.|(?<!\w)(?:sk-[\w-]{16}|(?:[sr]k_(?:live|test)|whsec)_\w{10})|-----BEGIN|(?=[A-Za-z_~+=-]{0,39}\d)[\w~+=-]{40}/;

/** Of a name. */
export const isLikeSecret = (name: string): boolean => SECRET_LIKE.test(name);

/** Of a program's name. Behind a folder it is a path, however it looks. */
export const isSecretForProgram = (program: string): boolean => isLikeSecret(program.split('/', 1)[0] ?? '');

/** Whether a name may be told where nothing has it: it begins as a path, or is of words. */
export const isPlainName = (name: string): boolean =>
  /^(?:\.\.?|~)\//.test(name) || isWords(/^\/([^/]+)\//.exec(name)?.[1] ?? name);

/** Behind the name of the setting or the option. */
export const NO_FILE_OF_THAT_NAME =
  'no file has the name that stands there; what it is to hold does not belong there itself (with ./ before it a name is told)';

/** In place of such a name, wherever it would be told. */
export const UNTOLD_FILE = 'the file that is named there';

/** A text without what may be a secret of 16 characters or more. Its runs of characters do not overlap: however long they are, each is seen once. */
export const withoutSecrets = (text: string): string =>
  text.replace(/[\w.~+/=-]{16,}/g, (run) => (isWords(run) && !LONGER_THAN_WORDS.test(run) ? run : '[redacted]'));

/** Also of letters alone. */
const LONGER_THAN_WORDS = /[\w-]{8,}\.[\w-]{8,}\.|[\w~+=-]{40}/;

const isWords = (text: string): boolean =>
  !isLikeSecret(text) &&
  text.split(/[/._-]+/).every((word) => word.length <= WORD_CHARS_MAX && WORDS.some((form) => form.test(word)));

const WORD_CHARS_MAX = 20;
/** A secret changes more often between cases and digits than any of these. */
const WORDS = [
  // In one case, Capitalized or camelCase, and few digits behind it.
  /^(?:[A-Z]?[a-z]*(?:[A-Z][a-z]{2,})*|[A-Z]*)\d{0,5}$/,
  // With an abbreviation in capitals: OpenAI, APIKey. Of a short one, for a longer one of random letters may look so, too.
  /^(?=\w{2,15}$)[A-Z]?[a-z]*(?:[A-Z][a-z]{2,})*[A-Z]{2,5}(?:[A-Z][a-z]{2,})*\d{0,5}$/,
  // A version, a zone or an abbreviation: v2a, 1b, k8s.
  /^(?=\w{2,4}$)[A-Za-z]?[a-z]?\d{1,2}[a-z]{1,2}$/,
  // A day.
  /^20\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])$/,
];
