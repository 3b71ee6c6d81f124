import { Problem } from '@gatehouse/kit'

/** 502: there is no connection to an upstream, or it ended before a response began. */
export function unreachable(cause: unknown): Problem {
  return new Problem(502, 'The service behind this address could not be reached.', { cause })
}

/** 502: an upstream answered, but not so that the response can be forwarded. */
export function unusable(cause: unknown): Problem {
  return new Problem(502, 'The response of the service behind this address cannot be forwarded.', { cause })
}

/** 504: an upstream exceeded a timeout. */
export function tooSlow(cause?: unknown): Problem {
  return new Problem(504, 'The service behind this address took too long to answer.', { cause })
}
