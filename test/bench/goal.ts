export interface Goal<Measured> {
  readonly title: string;
  /** `most`: the value must not be above the limit; `least`: not below it. */
  readonly bound: 'most' | 'least';
  readonly limit: number;
  readonly unit: string;
  /** Null where what it compares was not measured. */
  value(measured: Measured): number | null;
}

export const worst = (values: readonly number[]): number | null => (values.length === 0 ? null : Math.max(...values));
