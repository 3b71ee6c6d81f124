import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'

/** The response of an authenticator, as the page sent it: its form is checked, nothing else. */
export interface SentResponse<Response> {
  readonly response: Response
  /** The challenge that it claims to answer. */
  readonly challenge: string
  /** Whether a page of another origin embedded the page that asked for it (WebAuthn Level 3 §5.8.1). */
  readonly isCrossOrigin: boolean
}

/** The longest response that is read, in characters: a certificate chain fits in. */
const maxResponseLength = 32_768
const base64url = /^[\w-]{1,1400}$/

/** Why a response was rejected: for the log and the audit trail, never for the page. */
export type PasskeyFault =
  | 'malformed'
  | 'challenge'
  | 'cross_origin'
  | 'unknown_credential'
  | 'user_handle'
  | 'verification'
  | 'backup_eligibility'
  | 'counter_regression'
  | 'not_discoverable'

/** Reads the JSON of PublicKeyCredential.toJSON; undefined if it is none. */
export function readResponse<Response extends RegistrationResponseJSON | AuthenticationResponseJSON>(
  text: string,
): SentResponse<Response> | undefined {
  if (text.length > maxResponseLength) return undefined
  try {
    const response = JSON.parse(text) as Response
    if (!base64url.test(response.id)) return undefined
    const clientData = JSON.parse(Buffer.from(response.response.clientDataJSON, 'base64url').toString('utf8'))
    const { challenge, crossOrigin, topOrigin } = clientData as Record<string, unknown>
    if (typeof challenge !== 'string') return undefined
    return { response, challenge, isCrossOrigin: (crossOrigin ?? false) !== false || topOrigin !== undefined }
  } catch {
    return undefined
  }
}
