import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

const TOP = 25;
const ROOT = new URL('../../', import.meta.url);

const profileSchema = z.object({
  nodes: z.array(
    z.object({
      id: z.int(),
      callFrame: z.object({ functionName: z.string(), url: z.string(), lineNumber: z.int() }),
    }),
  ),
  samples: z.array(z.int()),
  timeDeltas: z.array(z.number()),
});
type Profile = z.infer<typeof profileSchema>;

interface SelfTime {
  /** The function with its file and line. */
  readonly where: string;
  readonly us: number;
  /** Of the time that the thread was not idle. */
  readonly share: number;
}

/** Where each thread's time went, by self time, as text: one part for each profile that Node left in the folder. */
export function profileReport(folder: string): string {
  const parts = readdirSync(folder)
    .filter((name) => name.endsWith('.cpuprofile'))
    .map((name) => {
      const top = selfTimes(JSON.parse(readFileSync(join(folder, name), 'utf8'))).slice(0, TOP);
      const lines = top.map(
        ({ where, us, share }) =>
          `  ${(share * 100).toFixed(1).padStart(5)}%  ${(us / 1000).toFixed(0).padStart(7)} ms  ${where}`,
      );
      return `${name}\n${lines.join('\n')}\n`;
    });
  return `Self time by function, idle time left out\n${parts.join('\n')}`;
}

/** Functions by the time spent in themselves, most first. @throws ZodError for what is no CPU profile. */
export function selfTimes(json: unknown): SelfTime[] {
  const profile: Profile = profileSchema.parse(json);
  const names = new Map(profile.nodes.map(({ id, callFrame }) => [id, nameOf(callFrame)]));
  const times = new Map<string, number>();
  for (const [index, sample] of profile.samples.entries()) {
    const name = names.get(sample) ?? '(unknown)';
    if (name === '(idle)') continue;
    times.set(name, (times.get(name) ?? 0) + (profile.timeDeltas[index] ?? 0));
  }
  const total = [...times.values()].reduce((sum, us) => sum + us, 0);
  return [...times].map(([where, us]) => ({ where, us, share: us / total })).toSorted((a, b) => b.us - a.us);
}

function nameOf({ functionName, url, lineNumber }: Profile['nodes'][number]['callFrame']): string {
  const file = url.startsWith(ROOT.href) ? fileURLToPath(url).slice(fileURLToPath(ROOT).length) : url;
  const name = functionName === '' ? '(anonymous)' : functionName;
  return file === '' ? name : `${name}  ${file}:${lineNumber + 1}`;
}
