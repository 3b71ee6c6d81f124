import type { PolicyDeclaration, TierDeclaration } from './limit-declaration.ts'

/** The tiers of the specification's examples. */
export const defaultTiers: Readonly<Record<string, TierDeclaration>> = {
  free: { rpm: 10, daily: 1_000 },
  pro: { rpm: 100, daily: 100_000 },
}

/**
 * The limits of traffic without a tier, each by IP address except the last two:
 * - `anonymous`: requests without a credential.
 * - `identity`: the pages and endpoints of the token service.
 * - `webhooks`: reports of providers.
 * - `links`: links in mails. Mail services follow many from one address.
 * - `bad-credentials`: forged tokens and unknown API keys, in this process. Beyond it no unknown credential from the
 *   address is checked.
 * - `console`: the admin console: its pages by address, and what an administrator does in it by user, in place of
 *   their tier.
 * - `producer`: events from callers with write:notifications, by caller, in place of their tier.
 */
export const defaultPolicies: Readonly<Record<string, PolicyDeclaration>> = {
  anonymous: { rpm: 60 },
  identity: { rpm: 600 },
  webhooks: { rpm: 30_000 },
  links: { rpm: 6_000 },
  'bad-credentials': { rpm: 60 },
  console: { rpm: 1_200 },
  producer: { rpm: 60_000 },
}

/** The policy that counts forged tokens and unknown API keys. */
export const badCredentials = 'bad-credentials'

/** The policy of callers that send events. */
export const producerPolicy = 'producer'

/** The policy of users of the admin console. */
export const consolePolicy = 'console'
