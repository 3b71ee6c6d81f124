import { tokenHash } from '@gatehouse/kit'
import { sendPage, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { audit } from '../audit/record.ts'
import type { AccountContext } from '../context/features.ts'
import { pageParameters } from '../http/page-route.ts'
import { createRecipientMessage } from '../mail/messages.ts'
import type { Passkey } from '../model/factors/passkey.ts'
import type { Parameters } from '../oauth/parameters.ts'
import { deviceName } from '../pages/device-name.ts'
import { messagePage } from '../pages/error-page.ts'
import type { Field, FormPage } from '../pages/form-page.ts'
import { PageError, signInNext } from '../pages/page-error.ts'
import { registrationPage } from '../pages/passkeys/registration-page.ts'
import { checkForm, formToken, readBrowser, readUserAgent } from '../sessions/browser.ts'
import type { BrowserExchange } from '../sessions/sign-in-page.ts'
import { NameConflict, type Registration } from '../store/index.ts'
import { createSignUpOptions, verifyRegistration } from '../webauthn/registration.ts'
import { newPasswordField, passwordValues } from './password-change.ts'

const nameField: Field = { name: 'name', text: 'register.name', type: 'text', autocomplete: 'name' }
const maxNameLength = 200

/** How a new user signs in: by one of the two. */
type ChosenWay = { readonly passwordHash: string } | { readonly passkey: Passkey }

/** What was wrong with the way that was sent. */
interface WrongWay {
  /** The key of the fault, and the name of the faulty field. */
  readonly wrong: string
  readonly wrongField?: string
}

/**
 * GET and POST /register/confirm: creates the account with the name, and with the password or the passkey that the owner
 * of the mailbox chooses. Nothing is created, and the link stays valid, until there is one.
 */
export function confirmRegistrationEndpoint(
  context: AccountContext,
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  return async (request, reply) => {
    if (!context.features.registration) throw new PageError(404, 'error.missing')
    const parameters = pageParameters(request)
    const token = parameters.get('token') ?? ''
    const registration = await context.store.registrations.find(tokenHash(token), context.clock.now())
    if (registration === undefined) throw expiredLink()
    const exchange = { request, reply, browser: await readBrowser(context, request, reply) }
    if (request.method === 'GET') return sendConfirmPage(context, exchange, registration, { token })
    checkForm(context, request, exchange.browser, parameters)
    const way = await readWay(context, exchange, registration, parameters)
    const wrong =
      'wrong' in way ? way : await createAccount(context, registration, nameOf(parameters, registration), way)
    if (wrong !== undefined)
      return sendConfirmPage(context, exchange, registration, { token, name: parameters.get('name'), ...wrong })
    const { userId: user } = registration
    const details = 'passkey' in way ? { passkey: way.passkey.id } : {}
    await audit(context, request, 'user_registered', { actor: user, subject: user, details })
    const texts = textsFor(context, request)
    const key = 'passkey' in way ? 'register.confirmed.passkey' : 'register.confirmed'
    return sendPage(context, reply, texts, messagePage(texts, key, { next: signInNext }))
  }
}

/** The page of a link, with what was sent before. */
interface SentPage extends Partial<WrongWay> {
  readonly token: string
  readonly name?: string | undefined
}

async function sendConfirmPage(
  context: AccountContext,
  exchange: BrowserExchange,
  registration: Registration,
  { token, name, ...wrong }: SentPage,
): Promise<FastifyReply> {
  const { request, reply, browser } = exchange
  const texts = textsFor(context, request)
  const form: FormPage = {
    key: 'register.confirm',
    action: '/register/confirm',
    formToken: formToken(context, browser),
    fields: [{ ...nameField, value: name }, newPasswordField],
    hidden: { token },
    values: { email: registration.email, ...passwordValues(context) },
    ...wrong,
  }
  // Past the limit of challenges the page offers the password alone.
  const { allowed } = context.features.passkeys
    ? await context.limit('passkey-challenge', { address: request.ip })
    : { allowed: false }
  const options = allowed ? await createSignUpOptions(context, exchange, registration) : undefined
  return sendPage(context, reply, texts, registrationPage(texts, form, options))
}

async function readWay(
  context: AccountContext,
  exchange: BrowserExchange,
  registration: Registration,
  parameters: Parameters,
): Promise<ChosenWay | WrongWay> {
  const credential = context.features.passkeys ? parameters.get('credential') : undefined
  if (credential !== undefined) {
    const holder = { userId: registration.userId, registration: registration.hash }
    const verified = await verifyRegistration(context, exchange, holder, credential)
    if ('fault' in verified) return { wrong: 'passkey.new.wrong' }
    return { passkey: { ...verified, name: deviceName(readUserAgent(exchange.request)) } }
  }
  const password = parameters.get('new_password') ?? ''
  const fault = context.passwordPolicy.findFault(password, registration)
  if (fault !== undefined) return { wrong: `password.${fault}`, wrongField: 'new_password' }
  return { passwordHash: await context.passwords.hash(password) }
}

function nameOf(parameters: Parameters, { email }: Registration): string {
  return (parameters.get('name')?.trim() || email).slice(0, maxNameLength)
}

/** What is wrong with the passkey, if anything. @throws PageError 400 when the link was used meanwhile */
async function createAccount(
  context: AccountContext,
  registration: Registration,
  name: string,
  way: ChosenWay,
): Promise<WrongWay | undefined> {
  const { userId: id, email } = registration
  const { passwordHash, passkey } = { passwordHash: undefined, passkey: undefined, ...way }
  const user = {
    id,
    username: email,
    plan: context.defaultPlan,
    email,
    emailVerified: true,
    roles: [],
    claims: { name },
    passwordHash,
  }
  const messages = [createRecipientMessage(context, id)]
  const completed = { registration, user, passkey, messages }
  const result = await context.store.registrations.complete(completed, context.clock.now()).catch(conflictResult)
  if (result === 'expired') throw expiredLink()
  if (result === 'passkey_in_use') return { wrong: 'passkey.new.wrong' }
  context.signalOutbox()
  return undefined
}

/** An address that got an account meanwhile has no use for the link. */
function conflictResult(error: unknown): 'expired' {
  if (error instanceof NameConflict) return 'expired'
  throw error
}

function expiredLink(): PageError {
  return new PageError(400, 'reset.expired', {}, { href: '/register', text: 'login.register' })
}
