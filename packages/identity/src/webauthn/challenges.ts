import { randomToken, tokenHash } from '@gatehouse/kit'
import type { PageContext } from '../context/context.ts'
import type { Browser } from '../sessions/browser.ts'
import type { ChallengePurpose, PasskeyChallenge } from '../store/index.ts'

/** What a challenge is for and who may answer it; nobody is named where a sign-in begins. */
export interface ChallengeUse {
  readonly purpose: ChallengePurpose
  readonly userId?: string | undefined
  /** The hash of the registration whose account does not exist yet. */
  readonly registration?: string
}

type ChallengeContext = Pick<PageContext, 'store' | 'clock' | 'lifetimes'>

/** Creates a challenge for one response in this browser, and stores its hash as long as a page is valid. */
export async function createChallenge(context: ChallengeContext, browser: Browser, use: ChallengeUse): Promise<string> {
  const challenge = randomToken()
  const expiresAt = context.clock.now() + context.lifetimes.interaction * 1000
  await context.store.passkeyChallenges.put(stored(challenge, browser, use), expiresAt)
  return challenge
}

/** Consumes a challenge: true once, in the browser and for the use that it was created for, before it expires. */
export function consumeChallenge(
  { store, clock }: ChallengeContext,
  browser: Browser,
  use: ChallengeUse,
  challenge: string,
): Promise<boolean> {
  return store.passkeyChallenges.consume(stored(challenge, browser, use), clock.now())
}

function stored(
  challenge: string,
  browser: Browser,
  { purpose, userId, registration }: ChallengeUse,
): PasskeyChallenge {
  // The row of a registration is replaced by the next one, so a challenge is bound to it by the hash.
  const bound = registration === undefined ? challenge : `${challenge} ${registration}`
  return { hash: tokenHash(bound), purpose, browserHash: tokenHash(browser.id), userId }
}
