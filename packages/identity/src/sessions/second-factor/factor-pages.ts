import { randomUUID } from 'node:crypto'
import { sendPage, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply } from 'fastify'
import type { PageContext } from '../../context/context.ts'
import type { FactorKind, FactorStep } from '../../model/factors/second-factor.ts'
import type { User } from '../../model/user.ts'
import { enrolPage } from '../../pages/account/enrol-page.ts'
import { factorPage } from '../../pages/sign-in/factor-page.ts'
import { formToken } from '../browser.ts'
import { type Continuation, openContinuation } from '../continuation.ts'
import type { BrowserExchange } from '../sign-in-page.ts'
import { showSecret, startEnrolment } from './enrolment.ts'
import { type PendingSignIn, sealPendingSignIn } from './pending-sign-in.ts'

/** A sign-in that waits for its second factor, and what it resumes. */
export interface FactorRequest {
  readonly user: User
  readonly pending: PendingSignIn
  /** The sealed continuation. */
  readonly continuation: string
  /** What the user has enrolled and can use; none asks the user to enrol. */
  readonly factors: readonly FactorKind[]
}

/** What was wrong with the code that was sent. */
export interface FactorFault {
  /** The key of the text, and its values. */
  readonly wrong: string
  readonly values?: Readonly<Record<string, string>>
  readonly status: number
  /** The secret of the enrolment that continues. */
  readonly enrolment?: string
}

/** What a sign-in has proven so far. */
export type Proven = Pick<PendingSignIn, 'amr' | 'details' | 'provider' | 'authTime' | 'raises'>

/** Begins the step: the sign-in is sealed into the page, and failed attempts are counted from none. */
export function beginFactorStep(
  context: PageContext,
  exchange: BrowserExchange,
  step: FactorStep,
  { user, factors, proven, continuation }: Omit<FactorRequest, 'pending'> & { readonly proven: Proven },
): FastifyReply {
  const pending: PendingSignIn = {
    userId: user.id,
    credentialVersion: user.credentialVersion,
    ...proven,
    challenge: randomUUID(),
    startedAt: proven.provider?.since ?? context.clock.now(),
  }
  const request = { user, pending, continuation, factors }
  return step === 'factor' ? sendFactorPage(context, exchange, request) : sendEnrolPage(context, exchange, request)
}

/** Asks for the second factor. */
export function sendFactorPage(
  context: PageContext,
  { request, reply, browser }: BrowserExchange,
  { pending, continuation, factors }: FactorRequest,
  fault?: FactorFault,
): FastifyReply {
  const resumed = openContinuation(context, browser, continuation)
  const texts = textsFor(context, request, String(resumed.request.ui_locales ?? ''))
  const page = factorPage(texts, {
    formToken: formToken(context, browser),
    continuation,
    pending: sealPendingSignIn(context, browser, pending),
    hasApp: factors.includes('totp'),
    hasPasskey: factors.includes('passkey'),
    mayRemember: pending.raises === undefined,
    ...(fault === undefined ? {} : { wrong: texts.say(fault.wrong, fault.values), status: fault.status }),
    formTargets: targetsOf(resumed),
  })
  return sendPage(context, reply, texts, page)
}

/** Asks the user to enrol a first factor, without which the sign-in does not end. */
export function sendEnrolPage(
  context: PageContext,
  { request, reply, browser }: BrowserExchange,
  { user, pending, continuation }: FactorRequest,
  fault?: FactorFault,
): FastifyReply {
  const resumed = openContinuation(context, browser, continuation)
  const texts = textsFor(context, request, String(resumed.request.ui_locales ?? ''))
  const shown =
    fault?.enrolment === undefined ? startEnrolment(context, browser, user) : showSecret(context, user, fault.enrolment)
  const page = enrolPage(texts, {
    ...shown,
    action: '/login/enrol',
    formToken: formToken(context, browser),
    hidden: { continuation, pending: sealPendingSignIn(context, browser, pending) },
    isRequired: true,
    ...(fault === undefined ? {} : { wrong: texts.say(fault.wrong, fault.values), status: fault.status }),
    formTargets: targetsOf(resumed),
  })
  return sendPage(context, reply, texts, page)
}

/** Where the forms of a page may lead that resumes this. */
export function targetsOf({ target }: Pick<Continuation, 'target'>): readonly string[] {
  return target === undefined ? [] : [target]
}
