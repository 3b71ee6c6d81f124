import { isPublic } from '../model/client.ts'
import { chooseLevelStep, type FactorStep, type MfaPolicy } from '../model/factors/second-factor.ts'
import { type Access, covers } from '../model/grants/consent.ts'
import type { AuthorizationRequest, Destination } from '../oauth/authorization-request.ts'
import { OAuthError } from '../oauth/error.ts'
import { hasVerifiedHost } from '../oauth/redirect-uri.ts'
import type { Browser } from '../sessions/browser.ts'
import { recentSignInMs } from '../sessions/recent-sign-in.ts'

/** The next step of a valid request on the way to its code. */
export type NextStep = 'login' | FactorStep | 'organization' | 'consent' | 'code'

/** Everything that the choice of the next step depends on. */
export interface Situation {
  readonly request: AuthorizationRequest
  /** The access that the request asks the user to allow. */
  readonly access: Access
  readonly signedIn: Browser['signedIn']
  /** What the user allowed this client before, by consent page. */
  readonly consents: readonly Access[]
  /** Whether the user has to choose an organization. */
  readonly isOrganizationOpen: boolean
  /** The subject of a valid id_token_hint. */
  readonly hintedSubject: string | undefined
  /** When this request was sent to a sign-in, in Unix milliseconds: a later sign-in counts as fresh. */
  readonly waitingSince: number | undefined
  /** The strictest policy about second factors that applies. */
  readonly policy: MfaPolicy
  readonly now: number
}

/**
 * Chooses the next step (OpenID Connect Core §3.1.2.3, §3.1.2.4).
 * @throws OAuthError `login_required`, `interaction_required` or `consent_required` where prompt=none forbids interaction;
 * `unmet_authentication_requirements` for an essential acr that the user can't reach
 */
export function chooseNextStep(situation: Situation): NextStep {
  const silent = situation.request.prompts.has('none')
  if (needsLogin(situation)) {
    if (silent) throw new OAuthError('login_required', 'the user must sign in')
    return 'login'
  }
  const factor = chooseFactor(situation)
  if (factor !== undefined) {
    if (silent) throw new OAuthError('interaction_required', 'the sign-in of the user does not have the level')
    return factor
  }
  if (situation.isOrganizationOpen) {
    if (silent) throw new OAuthError('interaction_required', 'the user must choose an organization')
    return 'organization'
  }
  if (needsConsent(situation)) {
    if (silent) throw new OAuthError('consent_required', 'the user must give consent')
    return 'consent'
  }
  return 'code'
}

function needsLogin({ request, signedIn, hintedSubject, waitingSince, now }: Situation): boolean {
  if (signedIn === undefined) return true
  const { session, user } = signedIn
  const wanted = [hintedSubject, request.subject].filter((one) => one !== undefined)
  if (wanted.some((subject) => subject !== user.id)) return true
  if (waitingSince !== undefined && session.authTime >= waitingSince) return false
  if (request.prompts.has('login') || request.prompts.has('select_account')) return true
  return request.maxAgeSeconds !== undefined && now - session.authTime > request.maxAgeSeconds * 1000
}

/** What the session lacks for the level of the request. A first factor is enrolled only after a recent sign-in. */
function chooseFactor({ request, signedIn, waitingSince, policy, now }: Situation): 'login' | FactorStep | undefined {
  if (signedIn === undefined) return 'login'
  const { session, factors } = signedIn
  const { amr, remembered, authTime } = session
  const signedInForIt = waitingSince !== undefined && authTime >= waitingSince
  const step = chooseLevelStep({ amr, remembered, factors, policy, wanted: request.acr, signedInForIt })
  if (step === 'unmet') {
    throw new OAuthError('unmet_authentication_requirements', 'the user cannot reach the essential acr')
  }
  return step === 'enrol' && now - authTime > recentSignInMs ? 'login' : step
}

/**
 * A public client needs consent every time, because any program can use its name. Other clients need none once a single
 * page has covered the whole request; access that two pages showed separately was never allowed together.
 */
function needsConsent({ request, access, consents }: Situation): boolean {
  if (request.prompts.has('consent')) return true
  if (isExemptFromConsent(request)) return false
  return isPublic(request.client) || !consents.some((consent) => covers(consent, access))
}

/**
 * Whether a client is the operator's own and needs no consent: a public one only where the redirect URI proves who gets
 * the code.
 */
export function isExemptFromConsent({ client, redirectUri }: Destination): boolean {
  return isPublic(client) ? client.firstParty === true && hasVerifiedHost(redirectUri) : client.skipConsent
}
