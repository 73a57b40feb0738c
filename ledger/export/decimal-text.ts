/** Micro-USD as USD with all six decimals, for programs: -1234567890n is "-1234.567890". */
export const usdOfMicro = (microUsd: bigint): string => decimalText(microUsd, 6);
/** Pico-USD likewise, with twelve. */
export const usdOfPico = (picoUsd: bigint): string => decimalText(picoUsd, 12);

function decimalText(value: bigint, decimals: number): string {
  if (value < 0n) return `-${decimalText(-value, decimals)}`;
  const digits = value.toString();
  const whole = digits.length - decimals;
  return whole > 0 ? `${digits.slice(0, whole)}.${digits.slice(whole)}` : `0.${ZEROS.slice(0, -whole)}${digits}`;
}

const ZEROS = '000000000000';
