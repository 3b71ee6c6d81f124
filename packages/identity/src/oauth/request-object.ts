import { decodeJwt } from 'jose'
import type { Parameters } from './parameters.ts'

/** The parameters of a request that its response depends on. */
export interface ResponseParameters {
  readonly state: string | undefined
  readonly responseMode: string | undefined
}

const maxStateLength = 2048

/**
 * Where and how the sender expects the response: by its parameters, else by its request object. Request objects are not
 * supported (OpenID Connect Core §6) and nothing else of one is read, but a client that sent everything in one accepts
 * the error only in that way.
 */
export function readResponseParameters(parameters: Parameters): ResponseParameters {
  const parameter = { state: parameters.get('state'), responseMode: parameters.get('response_mode') }
  const object = parameters.get('request')
  if (object === undefined) return parameter
  const { state, response_mode: mode } = decodePayload(object)
  return {
    state: parameter.state ?? (typeof state === 'string' && state.length <= maxStateLength ? state : undefined),
    responseMode: parameter.responseMode ?? (mode === 'form_post' ? mode : undefined),
  }
}

function decodePayload(object: string): Readonly<Record<string, unknown>> {
  try {
    return decodeJwt(object)
  } catch {
    return {}
  }
}
