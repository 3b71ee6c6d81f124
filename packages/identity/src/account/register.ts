import { randomUUIDv7 } from 'node:crypto'
import { seal, unseal } from '@gatehouse/kit'
import { sendPage, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { audit } from '../audit.ts'
import { checkForm, formToken, readBrowser } from '../browser.ts'
import { pass } from '../guards.ts'
import { linkMail } from '../mail-link.ts'
import { recipientMessage } from '../messages.ts'
import { pageParameters } from '../page-route.ts'
import { messagePage } from '../pages/error-page.ts'
import { type Field, type FormPage, formPage } from '../pages/form-page.ts'
import { PageError, signInNext } from '../pages/page-error.ts'
import type { Parameters } from '../parameters.ts'
import type { Parts } from '../parts.ts'
import { isAllowedPassword } from '../password-rule.ts'
import { NameTaken } from '../store.ts'
import { normalName } from '../user.ts'

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

interface Registration {
  readonly id: string
  readonly email: string
  readonly name: string
  readonly passwordHash: string
  readonly expiresAt: number
}

const fields: readonly Field[] = [
  { name: 'email', text: 'register.email', type: 'email', autocomplete: 'email' },
  { name: 'name', text: 'register.name', type: 'text', autocomplete: 'name' },
  {
    name: 'new_password',
    text: 'register.password',
    type: 'password',
    autocomplete: 'new-password',
    hint: 'password.hint',
  },
]

/**
 * GET and POST /register: an account of one's own. Nothing is kept until the address is proven: the registration
 * itself travels sealed in the mailed link. An address that has an account gets the same answer, and no mail.
 */
export function registerEndpoint(parts: Parts): Handler {
  return async (request, reply) => {
    if (!parts.features.registration) throw new PageError(404, 'error.missing')
    const browser = await readBrowser(parts, request, reply)
    const texts = textsFor(parts, request)
    const parameters = pageParameters(request)
    const form: FormPage = {
      key: 'register',
      action: '/register',
      back: signInNext,
      formToken: formToken(parts, browser),
      fields: fields.map((field) => ({
        ...field,
        value: field.type === 'password' || request.method === 'GET' ? undefined : parameters.get(field.name),
      })),
    }
    if (request.method === 'GET') return sendPage(parts, reply, texts, formPage(texts, form))
    checkForm(parts, request, browser, parameters)
    const wrong = faultOf(parameters)
    if (wrong !== undefined) return sendPage(parts, reply, texts, formPage(texts, { ...form, ...wrong }))
    await pass(parts.limit, [['registration', { address: request.ip }]])
    const email = normalName(parameters.required('email'))
    const passwordHash = await parts.passwords.hash(parameters.required('new_password'))
    // The answer does not wait for it: how long it takes would tell whether there is an account.
    void sendLink(parts, email, parameters.get('name') ?? email, passwordHash).catch((error) =>
      request.log.error({ err: error }, 'a registration link was not sent'),
    )
    return sendPage(parts, reply, texts, messagePage(texts, 'register.done', { values: { email } }))
  }
}

function faultOf(parameters: Parameters): Pick<FormPage, 'wrong' | 'wrongField'> | undefined {
  const email = parameters.get('email') ?? ''
  if (email.length > 254 || !/^[^\s@"<>]+@[^\s@"<>]+\.[^\s@"<>]+$/.test(email)) {
    return { wrong: 'register.email.wrong', wrongField: 'email' }
  }
  const isAllowed = isAllowedPassword(parameters.get('new_password') ?? '')
  return isAllowed ? undefined : { wrong: 'password.short', wrongField: 'new_password' }
}

async function sendLink(parts: Parts, email: string, name: string, passwordHash: string): Promise<void> {
  if ((await parts.store.users.findByLogin(email)) !== undefined) return
  const seconds = parts.lifetimes.verifyLink
  const registration: Registration = {
    id: randomUUIDv7(),
    email,
    name: name.slice(0, 200),
    passwordHash,
    expiresAt: parts.clock.now() + seconds * 1000,
  }
  const token = seal(JSON.stringify(registration), parts.encryptionKey, 'registration')
  const recipient = { user_id: registration.id, email }
  await parts.store.outbox.put([
    linkMail(parts, 'registration', recipient, registration.name, token, seconds),
    recipientMessage(parts, registration.id, registration.expiresAt),
  ])
  parts.wakeOutbox()
}

/** GET and POST /register/confirm: the address is proven; the account begins. */
export function confirmRegistrationEndpoint(parts: Parts): Handler {
  return async (request, reply) => {
    if (!parts.features.registration) throw new PageError(404, 'error.missing')
    const parameters = pageParameters(request)
    const token = parameters.get('token') ?? ''
    const registration = read(parts, token)
    const browser = await readBrowser(parts, request, reply)
    const texts = textsFor(parts, request)
    if (request.method === 'GET') {
      const form = { key: 'verify', action: '/register/confirm', formToken: formToken(parts, browser), fields: [] }
      const page = formPage(texts, { ...form, hidden: { token }, values: { email: registration.email } })
      return sendPage(parts, reply, texts, page)
    }
    checkForm(parts, request, browser, parameters)
    await create(parts, registration)
    await audit(parts, request, 'user_registered', { actor: registration.id, subject: registration.id })
    return sendPage(parts, reply, texts, messagePage(texts, 'verify.done', { next: signInNext }))
  }
}

function read({ encryptionKey, clock }: Parts, token: string): Registration {
  try {
    const registration = JSON.parse(unseal(token, encryptionKey, 'registration')) as Registration
    if (registration.expiresAt > clock.now()) return registration
  } catch {
    // told below
  }
  throw over()
}

async function create(parts: Parts, { id, email, name, passwordHash }: Registration): Promise<void> {
  const user = {
    id,
    username: email,
    plan: parts.defaultPlan,
    email,
    emailVerified: true,
    roles: [],
    claims: { name },
    passwordHash,
  }
  try {
    await parts.store.users.create(user, [recipientMessage(parts, id)], parts.clock.now())
  } catch (error) {
    throw error instanceof NameTaken ? over() : error
  }
}

function over(): PageError {
  return new PageError(400, 'reset.over', {}, { href: '/register', text: 'login.register' })
}
