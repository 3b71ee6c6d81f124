import { seal, tokenHash, unseal } from '@gatehouse/kit'
import type { PageContext } from '../context/context.ts'
import type { Access } from '../model/consent.ts'
import type { Form } from '../oauth/parameters.ts'
import { PageError } from '../pages/page-error.ts'
import type { Browser } from './browser.ts'

/**
 * What a browser was about to do when it had to sign in or to decide. It travels sealed in the page itself, so that a
 * login nobody finishes leaves nothing behind, and is good in the browser it was made for alone.
 */
export interface Continuation {
  /** The path to go on at. */
  readonly to: '/authorize/continue' | '/device' | '/account'
  readonly request: Form
  readonly startedAt: number
  /** Whether the request was pushed (RFC 9126). */
  readonly pushed?: boolean | undefined
  /** On a consent page: the session whose user is asked. No other page's fields are an answer to it. */
  readonly consentIn?: string | undefined
  /** On a consent page: what it named. The answer is an answer to that, and to nothing else. */
  readonly shown?: Access | undefined
  /** The client's name, for the page. */
  readonly client?: string | undefined
  /** Where the browser goes in the end: the page's forms may lead there. */
  readonly target?: string | undefined
}

/** What a continuation is sealed for: whichever link or page carries it. */
export function continuationPurpose(): string {
  return 'continuation'
}

type SealContext = Pick<PageContext, 'encryptionKey' | 'clock' | 'lifetimes'>

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
