import { defaultLifetimes, type IdentityOptions, mailLifetimes, phoneCodeEvent } from '@gatehouse/identity'
import type { Notify, ReservedDeclarations, TemplateDeclaration } from '@gatehouse/notify'
import { Pool } from 'undici'
import { hasDevPages, isOff } from '../../config/config.ts'
import type { Parts } from '../parts.ts'

type Outward = Required<Pick<IdentityOptions, 'onRecipient'>> & Pick<IdentityOptions, 'notify' | 'sms'>

/**
 * The event types of identity's own mails and text messages, which nobody else sends; only the configuration changes their texts. None of
 * them outlives its link.
 */
export function reservedForIdentity(templates: readonly TemplateDeclaration[]): ReservedDeclarations {
  const eventTypes = [...mailLifetimes(defaultLifetimes)].map(([event, seconds]) => ({
    event,
    channels: [event === phoneCodeEvent ? ('sms' as const) : ('email' as const)],
    ttl_seconds: seconds,
  }))
  return { owner: 'identity', eventTypes, templates }
}

/**
 * How identity tells the notification service of users and mails: in this process, or over HTTP; undefined without one.
 * Where the channel is off there is no way to mail, so that identity offers nothing that needs it.
 */
export function identityMail(parts: Parts, notify: Notify | undefined): Outward | undefined {
  const outward = outwardOf(parts, notify)
  if (outward === undefined) return undefined
  if (isOff(parts.config.file.channels?.email)) return { onRecipient: outward.onRecipient }
  return { ...outward, sms: hasTextMessages(parts.config, notify !== undefined) }
}

/**
 * Whether a provider sends text messages: one of the file, which services that run apart share, or the development
 * mailbox of this process.
 */
function hasTextMessages({ settings, file }: Parts['config'], isHere: boolean): boolean {
  if (isOff(file.channels?.sms)) return false
  return (file.providers?.sms?.length ?? 0) > 0 || (isHere && hasDevPages(settings, file))
}

function outwardOf(parts: Parts, notify: Notify | undefined): Outward | undefined {
  const { notifyUrl } = parts.config.settings
  if (notify) return within(notify)
  if (parts.token && !notifyUrl)
    parts.log.warn('NOTIFY_URL is not set: identity sends no mail and does not sync its users')
  return notifyUrl && parts.token ? overHttp(parts, notifyUrl) : undefined
}

function within(here: Notify): Outward {
  return {
    async notify(request) {
      const result = await here.mail(request)
      if (!('accepted' in result))
        throw new Error(`the notification service refused ${request.event}`, { cause: result })
    },
    async onRecipient(recipient) {
      if ('removed' in recipient) await here.removeRecipient(recipient.user_id)
      else {
        const { user_id: userId, email, phone_number: phoneNumber, locale, zoneinfo } = recipient
        await here.putRecipient({
          userId,
          ...(email === undefined ? {} : { email }),
          ...(phoneNumber === undefined ? {} : { phoneNumber }),
          ...(locale === undefined ? {} : { locale }),
          ...(zoneinfo === undefined ? {} : { zoneinfo }),
        })
      }
    },
  }
}

/**
 * For the command line: mails wait in the outbox for the program that runs, where one sends any. Undefined without one.
 */
export function deferredMail({ settings, file }: Parts['config']): Pick<IdentityOptions, 'notify'> | undefined {
  const isApart = settings.notifyUrl !== undefined && settings.serviceClient !== undefined
  if (isOff(file.channels?.email) || !(settings.services.has('notify') || isApart)) return undefined
  return { notify: () => Promise.reject(new Error('the command line delivers nothing')) }
}

const patienceMs = 5_000

function overHttp({ token, resources }: Parts, notifyUrl: string): Outward {
  const { origin, pathname } = new URL(notifyUrl)
  const pool = new Pool(origin, { connections: 8, headersTimeout: patienceMs, bodyTimeout: patienceMs })
  resources.push(() => pool.close())
  const call = async (method: 'POST' | 'PUT' | 'DELETE', path: string, body?: object) => {
    const bearer = await token?.current()
    const { statusCode, body: answer } = await pool.request({
      method,
      path: pathname.replace(/\/$/, '') + path,
      headers: { authorization: `Bearer ${bearer}`, ...(body ? { 'content-type': 'application/json' } : {}) },
      body: body ? JSON.stringify(body) : null,
      signal: AbortSignal.timeout(patienceMs),
    })
    await answer.dump()
    if (statusCode === 401 && bearer) token?.discard(bearer)
    if (statusCode >= 300 && !(method === 'DELETE' && statusCode === 404)) {
      throw new Error(`the notification service answered ${statusCode} to ${method} ${path}`)
    }
  }
  return {
    notify: (request) => call('POST', '/v1/reserved-mails', request),
    async onRecipient({ user_id: userId, ...recipient }) {
      const path = `/v1/recipients/${encodeURIComponent(userId)}`
      await ('removed' in recipient ? call('DELETE', path) : call('PUT', path, recipient))
    },
  }
}
