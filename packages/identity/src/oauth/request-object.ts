import { decodeJwt } from 'jose'
import type { Parameters } from './parameters.ts'

export interface AnswerWishes {
  readonly state: string | undefined
  readonly responseMode: string | undefined
}

const longestState = 2048

/**
 * How the sender of a request wants to be answered: by its parameters, else by what its request object says. Request
 * objects are not supported (OpenID Connect Core §6), and nothing else of one is read; but a client that put all into it
 * listens for the refusal only in the way it asked for.
 */
export function answerWishes(parameters: Parameters): AnswerWishes {
  const told = { state: parameters.get('state'), responseMode: parameters.get('response_mode') }
  const object = parameters.get('request')
  if (object === undefined) return told
  const { state, response_mode: mode } = payloadOf(object)
  return {
    state: told.state ?? (typeof state === 'string' && state.length <= longestState ? state : undefined),
    responseMode: told.responseMode ?? (mode === 'form_post' ? mode : undefined),
  }
}

function payloadOf(object: string): Readonly<Record<string, unknown>> {
  try {
    return decodeJwt(object)
  } catch {
    return {}
  }
}
