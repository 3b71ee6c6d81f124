import { decodeJwt } from 'jose'
import type { Parameters } from './parameters.ts'

export interface ResponseParameters {
  readonly state: string | undefined
  readonly responseMode: string | undefined
}

const maxStateLength = 2048

/**
 * How the sender of a request wants to be answered: by its parameters, else by what its request object says. Request
 * objects are not supported (OpenID Connect Core §6), and nothing else of one is read; but a client that put all into it
 * listens for the refusal only in the way it asked for.
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
