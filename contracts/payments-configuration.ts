import { z } from 'zod';
import { boundedList } from './bounded-length.ts';
import { environmentVariable } from './environment-variable.ts';
import { systemText } from './system-text.ts';

const pageUrl = z.url({ protocol: /^https?$/, error: 'expected an http or https URL' });
const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

/** The secret key goes there with each request. */
const apiUrl = z.string().refine((text) => {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, origin } = new URL(text);
  return origin === text && (protocol === 'https:' || (protocol === 'http:' && LOOPBACK.test(hostname)));
}, 'expected an origin such as "https://api.stripe.com"; http on loopback alone');

const stripeSchema = z.strictObject({
  /** A secret or restricted key of Stripe: in a variable, or in a file that holds nothing else. One of the two. */
  secretKeyEnv: environmentVariable.optional(),
  secretKeyFile: systemText.optional(),
  /** What Stripe signs webhooks with, each in a variable or a file: several while one is replaced. None: no webhooks. */
  webhookSecrets: boundedList(z.strictObject({ env: environmentVariable.optional(), file: systemText.optional() }), {
    max: 5,
  }).default([]),
  /** How long ago a webhook may have been signed; by this machine's clock. */
  webhookToleranceSeconds: z.int().min(1).max(3_600).default(300),
  /** Where whoever has paid is sent from Stripe's page. */
  successUrl: pageUrl,
  /** Where whoever has not is; without it that page has no way back. */
  cancelUrl: pageUrl.optional(),
  /** Another place than Stripe's own, for tests. */
  baseUrl: apiUrl.default('https://api.stripe.com'),
});

/** The provider by whose name operators confirm payments themselves. */
export const MANUAL = 'manual';

/** Who takes the money. */
export const paymentsSection = z.strictObject({
  /** `manual`: an operator says what was paid. */
  provider: z.enum([MANUAL, 'stripe']).default(MANUAL),
  stripe: stripeSchema.optional(),
});

/** Where a secret is; files by their absolute path. One of the two is there. */
export interface SecretPlace {
  readonly env?: string | undefined;
  readonly file?: string | undefined;
}

export interface StripeSecrets {
  readonly secretKey: string;
  readonly webhookSecrets: readonly string[];
}

export interface StripeConfiguration
  extends Pick<z.infer<typeof stripeSchema>, 'webhookToleranceSeconds' | 'successUrl' | 'cancelUrl' | 'baseUrl'> {
  readonly places: { readonly secretKey: SecretPlace; readonly webhookSecrets: readonly SecretPlace[] };
  /** Null for who asks nobody for money, and for commands, which read them where they do. */
  readonly secrets: StripeSecrets | null;
}

export type PaymentsConfiguration =
  | { readonly provider: typeof MANUAL }
  | { readonly provider: 'stripe'; readonly stripe: StripeConfiguration };
