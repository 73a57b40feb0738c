/**
 * A longer request is weighed when it is admitted, where it is parsed anyway: to parse it once more when its client leaves
 * would hold up all others.
 */
export const PARSED_ON_LEAVING_BYTES_MAX = 1024 * 1024;
/** Of an upstream's refusal, whose body is read whole before it is passed on. */
export const REFUSED_BODY_BYTES_MAX = 1024 * 1024;
