import { type Clock, type Http, Problem } from '@gatehouse/kit'
import { type Static, Type } from 'typebox'
import type { Guards } from '../caller.ts'
import { RecipientRecord, RecipientSettings, recipientOf, recipientRecord } from '../declaration.ts'
import { canonicalLocale } from '../locale.ts'
import { isZone } from '../quiet-hours.ts'
import type { Recipients } from '../store.ts'

const Params = Type.Object({ user_id: Type.String({ minLength: 1, maxLength: 256 }) })
const mostAtOnce = 1_000

/** The management of recipients: whom we can reach, and where. */
export function recipientEndpoints(http: Http, guards: Guards, store: Recipients, clock: Clock): void {
  const about = (summary: string) => ({ tags: ['recipients'], summary, security: [{ bearer: [guards.scopes.admin] }] })

  http.get(
    '/v1/recipients/:user_id',
    {
      onRequest: guards.admin,
      schema: { ...about('How a user can be reached'), params: Params, response: { 200: RecipientRecord } },
    },
    async (request) => {
      const found = await store.find(request.params.user_id)
      if (!found) throw new Problem(404, `There is no recipient ${request.params.user_id}.`)
      return recipientRecord(found)
    },
  )
  http.put(
    '/v1/recipients/:user_id',
    {
      onRequest: guards.admin,
      schema: {
        ...about('Sets how a user can be reached'),
        params: Params,
        body: RecipientSettings,
        response: { 200: RecipientRecord },
      },
    },
    async (request) => {
      const settings = request.body as Static<typeof RecipientSettings>
      refuseUnknownPlaces([settings])
      const recipient = recipientOf(request.params.user_id, settings)
      await store.put([recipient], clock.now())
      return recipientRecord(recipient)
    },
  )
  http.put(
    '/v1/recipients',
    {
      onRequest: guards.admin,
      bodyLimit: 1024 * 1024,
      schema: {
        ...about('Sets how many users can be reached, up to 1,000 at once'),
        body: Type.Object(
          {
            recipients: Type.Array(
              Type.Object(
                { user_id: Params.properties.user_id, ...RecipientSettings.properties },
                { additionalProperties: false },
              ),
              { maxItems: mostAtOnce },
            ),
          },
          { additionalProperties: false },
        ),
        response: { 200: Type.Object({ stored: Type.Integer() }) },
      },
    },
    async (request) => {
      const { recipients } = request.body as {
        recipients: Array<Static<typeof RecipientSettings> & { user_id: string }>
      }
      refuseUnknownPlaces(recipients, '/recipients/')
      await store.put(
        recipients.map(({ user_id, ...settings }) => recipientOf(user_id, settings)),
        clock.now(),
      )
      return { stored: recipients.length }
    },
  )
  http.delete(
    '/v1/recipients/:user_id',
    {
      onRequest: guards.admin,
      schema: { ...about('Forgets how a user can be reached'), params: Params, response: { 204: Type.Null() } },
    },
    async (request, reply) => {
      if (!(await store.remove(request.params.user_id)))
        throw new Problem(404, `There is no recipient ${request.params.user_id}.`)
      return reply.code(204).send(null)
    },
  )
}

/** 400 for a locale that is no language tag and a zone that is none. */
function refuseUnknownPlaces(list: ReadonlyArray<Static<typeof RecipientSettings>>, prefix: string = ''): void {
  const faults = list.flatMap(({ locale, zoneinfo }, index) => {
    const at = prefix === '' ? '/' : `${prefix}${index}/`
    return [
      ...(locale === undefined || canonicalLocale(locale)
        ? []
        : [{ pointer: `${at}locale`, detail: 'must be a language tag such as en or pt-BR' }]),
      ...(zoneinfo === undefined || isZone(zoneinfo)
        ? []
        : [{ pointer: `${at}zoneinfo`, detail: 'must be a time zone such as Europe/Berlin' }]),
    ]
  })
  if (faults.length === 0) return
  const told = faults.map(({ pointer, detail }) => `${pointer} ${detail}`).join('; ')
  throw new Problem(400, `The body is not valid: ${told}.`, { errors: faults })
}
