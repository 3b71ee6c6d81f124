import { sendPage, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { enforceLimits } from '../config/attempt-limits.ts'
import type { DevicePageContext } from '../context/features.ts'
import { pageParameters } from '../http/page-route.ts'
import type { FactorStep } from '../model/factors/second-factor.ts'
import { devicePage } from '../pages/device-pages.ts'
import { PageError } from '../pages/page-error.ts'
import { formToken, readBrowser } from '../sessions/browser.ts'
import { openContinuation, sealContinuation } from '../sessions/continuation.ts'
import { beginFactorStep } from '../sessions/second-factor/factor-pages.ts'
import { type BrowserExchange, sendSignInPage } from '../sessions/sign-in-page.ts'
import { claimRequest } from './claim.ts'
import { sendConfirmation } from './confirmation.ts'
import { findMissingFactor, readSignedIn, type SignedIn } from './decision.ts'
import { readUserCode } from './user-code.ts'

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

/** GET /device: the form for the code. A code in the address fills the form but does not submit it. */
export function devicePageEndpoint(context: DevicePageContext): Handler {
  return async (request, reply) => {
    const browser = await readBrowser(context, request, reply)
    const parameters = pageParameters(request)
    const sealed = parameters.get('continuation')
    const form = sealed === undefined ? parameters.form : openContinuation(context, browser, sealed).request
    if (browser.signedIn === undefined) {
      const code = readUserCode(parameters.get('user_code'))
      return sendSignInPage(
        context,
        { request, reply, browser },
        '/device',
        code === undefined ? {} : { user_code: code },
      )
    }
    const texts = textsFor(context, request)
    const code = readUserCode(typeof form.user_code === 'string' ? form.user_code : undefined)
    return sendPage(context, reply, texts, devicePage(texts, { formToken: formToken(context, browser), code }))
  }
}

/** POST /device: binds the code to this session and shows the confirmation page. Attempts are counted. */
export function deviceCodeEndpoint(context: DevicePageContext): Handler {
  return async (request, reply) => {
    const typed = pageParameters(request).get('user_code')
    const { browser, signedIn } = await readSignedIn(context, request, reply)
    const texts = textsFor(context, request)
    const reject = (text: string, status: number, values: Record<string, string> = {}) => {
      const page = { formToken: formToken(context, browser), code: typed?.slice(0, 20), status }
      return sendPage(context, reply, texts, devicePage(texts, { ...page, wrong: texts.say(text, values) }))
    }
    const retryAfter = await limitAttempt(context, request, signedIn)
    if (retryAfter !== undefined) {
      reply.header('retry-after', retryAfter)
      return reject('device.limited', 429, { seconds: retryAfter })
    }
    const code = readUserCode(typed)
    const deviceRequest = code && (await claimRequest(context, code, signedIn))
    const client = deviceRequest && (await context.clients.find(deviceRequest.clientId))
    if (!code || !deviceRequest || !client) return reject('device.unknown', 400)
    const step = await findMissingFactor(context, client, signedIn)
    if (step !== undefined) return sendMissingFactor(context, { request, reply, browser }, step, code)
    return sendConfirmation(context, { request, reply, browser }, signedIn, { code, deviceRequest, client })
  }
}

/** Sends the page for what the client requires of the sign-in, and leads back to the code. */
function sendMissingFactor(
  context: DevicePageContext,
  exchange: BrowserExchange,
  step: FactorStep | 'login',
  code: string,
): FastifyReply {
  const { signedIn } = exchange.browser
  const request = { user_code: code }
  if (step === 'login' || signedIn === undefined) return sendSignInPage(context, exchange, '/device', request)
  const { session, user, factors } = signedIn
  return beginFactorStep(context, exchange, step, {
    user,
    factors,
    proven: { amr: session.amr, details: {}, raises: session.id },
    continuation: sealContinuation(context, exchange.browser, {
      to: '/device',
      request,
      startedAt: context.clock.now(),
    }),
  })
}

/** Counts an attempt to enter a code. @returns the seconds to wait when there were too many */
async function limitAttempt(
  { limit }: DevicePageContext,
  request: FastifyRequest,
  { user }: SignedIn,
): Promise<string | undefined> {
  try {
    await enforceLimits(limit, [
      ['device-code', { user: user.id }],
      ['device-code-address', { address: request.ip }],
    ])
    return undefined
  } catch (error) {
    if (!(error instanceof PageError)) throw error
    return error.headers['retry-after'] ?? ''
  }
}
