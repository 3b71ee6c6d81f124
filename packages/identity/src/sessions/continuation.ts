import { seal, tokenHash, unseal } from '@gatehouse/kit'
import type { PageContext } from '../context/context.ts'
import type { Access } from '../model/grants/consent.ts'
import type { PushedSignIn } from '../model/grants/pushed-request.ts'
import type { Form } from '../oauth/parameters.ts'
import { PageError } from '../pages/page-error.ts'
import type { Browser } from './browser.ts'

/**
 * What a browser resumes after a sign-in or a decision. It is sealed into the page itself, so that an abandoned sign-in
 * leaves nothing behind, and is valid only in the browser that it was created for.
 */
export interface Continuation {
  /** The path to resume at. */
  readonly to:
    | '/authorize/continue'
    | '/device'
    | '/account'
    | '/account/factors'
    | '/account/factors/app'
    | '/account/organizations'
    | '/invitation'
    | '/account/password'
    | '/account/passkeys'
    | '/account/providers'
    | '/account/passkeys/new'
    | '/account/passkeys/edit'
    | '/account/profile'
    | '/account/email'
    | '/account/phone'
    | '/account/data'
    | '/account/delete'
  readonly request: Form
  readonly startedAt: number
  /** Whether only a new sign-in resumes it, also at a provider where the user is signed in already. */
  readonly needsNewSignIn?: boolean | undefined
  /** Set when the request was pushed (RFC 9126): the code uses it up. */
  readonly pushed?: PushedSignIn | undefined
  /** On a consent page: the session whose user decides. Forms of other pages are not accepted. */
  readonly consentIn?: string | undefined
  /** On a consent page: the access that it showed. The decision covers that and nothing else. */
  readonly shown?: Access | undefined
  /** On a consent page: the organization that it named. */
  readonly organization?: string | undefined
  /** The client's name, for the page. */
  readonly client?: string | undefined
  /** The origin where the browser ends: the forms of the page may lead there. */
  readonly target?: string | undefined
}

/** The purpose that continuations are sealed for. */
export function continuationPurpose(): string {
  return 'continuation'
}

type SealContext = Pick<PageContext, 'encryptionKey' | 'clock' | 'lifetimes'>

/** Seals a continuation for a browser. */
export function sealContinuation({ encryptionKey }: SealContext, browser: Browser, continuation: Continuation): string {
  return seal(JSON.stringify({ ...continuation, browser: tokenHash(browser.id) }), encryptionKey, continuationPurpose())
}

/** @throws PageError 400 when it was made for another browser, too long ago, or not by this server */
export function openContinuation(context: SealContext, browser: Browser, sealed: string | undefined): Continuation {
  const opened = read(context, sealed ?? '')
  const tooOld = (opened?.startedAt ?? 0) + context.lifetimes.interaction * 1000 < context.clock.now()
  if (opened === undefined || tooOld || opened.browser !== tokenHash(browser.id))
    throw new PageError(400, 'error.stale')
  return opened
}

function read({ encryptionKey }: SealContext, sealed: string): (Continuation & { browser: string }) | undefined {
  try {
    return JSON.parse(unseal(sealed, encryptionKey, continuationPurpose()))
  } catch {
    return undefined
  }
}
