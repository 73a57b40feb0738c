import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

const COMPOSE_FILE = fileURLToPath(new URL('../../compose.yaml', import.meta.url));

/** The image of a service of compose.yaml, with its version. Containers of tests run no other. @throws RangeError where it has none */
export function composeImage(service: string, file = COMPOSE_FILE): string {
  const { services } = parse(readFileSync(file, 'utf8'), { merge: true }) as {
    readonly services: Readonly<Record<string, { readonly image?: string }>>;
  };
  const image = services[service]?.image;
  if (image === undefined) throw new RangeError(`${file} names no image of ${service}`);
  return image;
}
