/** Of an upstream's refusal, whose body is read whole before it is passed on. */
export const REFUSED_BODY_BYTES_MAX = 1024 * 1024;
/** What a piece of an answer that is kept takes beside its bytes, about. */
export const PIECE_BYTES_BESIDE = 200;
