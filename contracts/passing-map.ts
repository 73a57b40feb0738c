/**
 * A map for what comes and goes with every request; it iterates its values, in the order in which their keys came.
 *
 * V8's Map makes a new table each time that as many have come and gone as it has room for. The old one keeps its values, and
 * points to the new one: where one of them was ever old enough for V8's old generation, all that was in the map since lives
 * until that is collected. With every request's objects in it, promoting and marking them was a quarter of a gateway's CPU.
 * Here the tables have keys and numbers, and the values a list of their own, which is used again.
 */
export class PassingMap<K extends string | number, V> implements Iterable<V> {
  readonly #places = new Map<K, number>();
  readonly #values: (V | undefined)[] = [];
  readonly #free: number[] = [];

  get size(): number {
    return this.#places.size;
  }

  has(key: K): boolean {
    return this.#places.has(key);
  }

  get(key: K): V | undefined {
    const place = this.#places.get(key);
    return place === undefined ? undefined : this.#values[place];
  }

  set(key: K, value: V): void {
    const place = this.#places.get(key) ?? this.#free.pop() ?? this.#values.length;
    this.#places.set(key, place);
    this.#values[place] = value;
  }

  /** Whether it was there. */
  delete(key: K): boolean {
    const place = this.#places.get(key);
    if (place === undefined) return false;
    this.#places.delete(key);
    this.#values[place] = undefined;
    this.#free.push(place);
    return true;
  }

  keys(): Iterable<K> {
    return this.#places.keys();
  }

  *[Symbol.iterator](): Generator<V> {
    for (const place of this.#places.values()) yield this.#values[place] as V;
  }
}
