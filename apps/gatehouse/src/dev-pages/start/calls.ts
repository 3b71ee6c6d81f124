import type { Secret } from '@gatehouse/kit'
import { requestsOverPlan, tourist } from '../../config/tour.ts'

/** What the first calls are made with. */
export type CallCredential =
  | { readonly kind: 'client'; readonly secret: Secret | undefined }
  | { readonly kind: 'key'; readonly key: Secret }

/** Where the first calls lead, and with what. */
export interface CallOptions {
  readonly baseUrl: string
  readonly authUrl: string
  readonly services: ReadonlySet<string>
  readonly credential: CallCredential
}

/** A call to paste into a shell; `text` may be several lines. Each uses the variables of the ones before. */
export interface FirstCall {
  readonly name: 'token' | 'key' | 'event' | 'outcome' | 'limit'
  readonly text: string
}

const placeholder = 'THE-SECRET-SHOWN-AT-THE-FIRST-RUN'

/** The first calls that this deployment can answer, in the order in which they are made. */
export function firstCalls(options: CallOptions): readonly FirstCall[] {
  const { services, credential } = options
  const header = credential.kind === 'client' ? 'Authorization: Bearer $TOKEN' : 'X-API-Key: $KEY'
  return [
    credentialCall(options),
    ...(services.has('notify') ? [eventCall(options, header), outcomeCall(options, header)] : []),
    ...(services.has('gateway') ? [limitCall(options, header)] : []),
  ]
}

function credentialCall({ authUrl, credential }: CallOptions): FirstCall {
  if (credential.kind === 'key') return { name: 'key', text: `KEY=${credential.key.reveal()}` }
  const user = `${tourist.client}:${credential.secret?.reveal() ?? placeholder}`
  return {
    name: 'token',
    text: `TOKEN=$(curl -s ${authUrl}/token -u '${user}' \\
  -d grant_type=client_credentials | sed -E 's/.*"access_token":"([^"]+)".*/\\1/')`,
  }
}

function eventCall({ baseUrl }: CallOptions, header: string): FirstCall {
  const { event, user } = tourist
  return {
    name: 'event',
    text: `ID=$(curl -s ${baseUrl}/v1/notify -H "${header}" \\
  -H 'Content-Type: application/json' -d '{"event":"${event}","user_id":"${user}",
    "channels":["push","email","sms","in-app"],
    "data":{"order_id":"A-1","item":"a red bicycle","tracking_url":"https://shop.example/track/A-1"}}' \\
  | tee /dev/stderr | sed -E 's/.*"id":"([^"]+)","deliveries".*/\\1/')`,
  }
}

const outcomeCall = ({ baseUrl }: CallOptions, header: string): FirstCall => ({
  name: 'outcome',
  text: `curl -s ${baseUrl}/v1/notifications/$ID -H "${header}"`,
})

/** More requests than the plan has in a minute, and what the answer to one more says. */
function limitCall({ baseUrl, credential }: CallOptions, header: string): FirstCall {
  const requests = requestsOverPlan[credential.kind]
  const path = credential.kind === 'client' ? `/users/${tourist.user}` : '/admin/v1/limits'
  return {
    name: 'limit',
    text: `for n in $(seq ${requests}); do
  curl -s -o /dev/null -w '%{http_code} ' ${baseUrl}${path} -H "${header}"
done; echo
curl -si ${baseUrl}${path} -H "${header}" \\
  | grep -iE '^(HTTP|x-ratelimit|retry-after)'`,
  }
}
