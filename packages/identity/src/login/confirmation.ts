import { tokenHash } from '@gatehouse/kit'
import { type PageAnswer, sendPage, type Texts, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { LoginContext } from '../context/features.ts'
import { pageParameters } from '../http/page-route.ts'
import type { User } from '../model/user.ts'
import { messagePage } from '../pages/error-page.ts'
import { formPage } from '../pages/form-page.ts'
import { PageError, signInNext } from '../pages/page-error.ts'
import { formToken, readBrowser } from '../sessions/browser.ts'
import { openContinuation } from '../sessions/continuation.ts'
import { finishSignIn } from '../sessions/finish-sign-in.ts'
import { answersOlderForm } from '../sessions/sign-in-form.ts'
import { type CodePage, codePage } from './code-page.ts'
import { refundProof } from './mailed-proof.ts'

/**
 * The page past the account's limit, whether the password was correct or not, so that it reveals nothing. With a
 * challenge it waits for the code too.
 */
export function checkEmailPage(
  context: LoginContext,
  texts: Texts,
  {
    challenge,
    ...page
  }: Pick<CodePage, 'browser' | 'name' | 'continuation' | 'target'> & { readonly challenge: string | undefined },
): PageAnswer {
  if (challenge !== undefined) return codePage(context, texts, { ...page, challenge, confirms: true })
  const minutes = String(Math.round(context.lifetimes.signInLink / 60))
  return messagePage(texts, 'confirm.sent', { values: { minutes }, next: signInNext })
}

/** GET and POST /login/confirm: completes the sign-in once the page is submitted; mail scanners only open it. */
export function confirmSignInEndpoint(
  context: LoginContext,
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  return async (request, reply) => {
    const parameters = pageParameters(request)
    const token = parameters.get('token') ?? ''
    const browser = await readBrowser(context, request, reply)
    const lookup = [tokenHash(token), tokenHash(browser.id), context.clock.now()] as const
    const found = await context.store.signInLinks.find(...lookup)
    if (found === undefined || isSwitchedOff(context, found.amr)) throw expiredLink()
    const continuation = openContinuation(context, browser, found.continuation)
    if (request.method === 'GET') {
      const texts = textsFor(context, request, String(continuation.request.ui_locales ?? ''))
      const form = { key: 'confirm', action: '/login/confirm', formToken: formToken(context, browser), fields: [] }
      const page = formPage(texts, { ...form, hidden: { token }, values: { user: found.user.username } })
      const formTargets = continuation.target === undefined ? [] : [continuation.target]
      return sendPage(context, reply, texts, { ...page, formTargets })
    }
    const form = { continuation: found.continuation, isAbout: ({ id }: User) => id === found.user.id }
    if (await answersOlderForm(context, { request, reply, browser }, parameters, form)) return reply
    const used = await context.store.signInLinks.consume(...lookup)
    const proven = used && {
      user: used.user,
      amr: used.amr,
      details: { confirmed: 'mail' },
      refund: () => refundProof(context, request, used),
    }
    const finished = proven && (await finishSignIn(context, { request, reply, browser }, proven, found.continuation))
    if (!finished) throw expiredLink()
    return reply
  }
}

/** A link that signs in by mail alone is void once that is switched off; one that confirms a password is not. */
function isSwitchedOff({ features }: LoginContext, amr: readonly string[]): boolean {
  return amr.includes('email') && !features.emailCode
}

function expiredLink(): PageError {
  return new PageError(400, 'confirm.expired', {}, signInNext)
}
