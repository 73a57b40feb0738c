/**
 * What may be a secret, within a text: a JWT, a key that begins as those of its issuer, a private key in PEM, or a run of
 * characters with a digit that is longer than any word.
 */
export const SECRET_LIKE =
  /e[wy][\w-]{6,}\.[\w-]{8,}\.[\w-]*|(?<!\w)(?:sk-[\w-]{16,}|(?:[sr]k_(?:live|test)|whsec)_\w{10,})|-----BEGIN|(?=[A-Za-z_~+=-]{0,39}\d)[\w~+=-]{40,}/g;

export const isLikeSecret = (text: string): boolean => text.search(SECRET_LIKE) >= 0;

/** Whether what stands in place of a file's name may be what belongs into the file. Behind a folder it is a path, however it looks. */
export const isSecretForFile = (name: string): boolean => isLikeSecret(name.split('/', 1)[0] ?? '');

/** Behind the name of the setting or the option. */
export const NAME_OF_FILE =
  'expected the name of a file; what stands there looks like a secret itself, which does not belong there (a file that is named so: with ./ before it)';
