/** Of an upstream's refusal, whose body is read whole before it is passed on. */
export const REFUSED_BODY_BYTES_MAX = 1024 * 1024;
