import { ConnectionError, TimeoutError } from '../errors/gatehouse-error.ts'
import type { Clock, Platform } from './platform.ts'

/** A signal that is aborted after some time, or with another signal; `end` lets go of both. */
export interface Deadline {
  readonly signal: AbortSignal
  /** Unix milliseconds. */
  readonly at: number
  end(): void
}

/** Begins a deadline: its signal is aborted with a {@link TimeoutError}, or with the reason of `outer`. */
export function beginDeadline(clock: Clock, timeoutMs: number, outer?: AbortSignal): Deadline {
  const controller = new AbortController()
  const timeout = () =>
    controller.abort(new TimeoutError(`no answer in ${timeoutMs} ms`, { code: 'timeout', retryable: true }))
  const cancel = Number.isFinite(timeoutMs) ? clock.after(timeoutMs, timeout) : () => {}
  const unlink = follow(outer, () => controller.abort(outer?.reason))
  const end = () => {
    cancel()
    unlink()
  }
  return { signal: controller.signal, at: clock.now() + timeoutMs, end }
}

/** The outcome of a promise, unless the signal is aborted before: then its reason. */
export async function untilAborted<Value>(
  promise: PromiseLike<Value>,
  signal: AbortSignal | undefined,
): Promise<Value> {
  if (signal === undefined) return promise
  let unlink = () => {}
  const aborted = new Promise<never>((_, reject) => {
    unlink = follow(signal, () => reject(signal.reason))
  })
  try {
    return await Promise.race([promise, aborted])
  } finally {
    unlink()
  }
}

/** Waits so many milliseconds, and rejects with the reason of a signal that is aborted before. */
export async function pause(clock: Clock, milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  let cancel = () => {}
  try {
    await untilAborted(
      new Promise<void>((resolve) => {
        cancel = clock.after(milliseconds, resolve)
      }),
      signal,
    )
  } finally {
    cancel()
  }
}

/** The outcome of a promise, in an object; undefined where there is none after so many milliseconds. */
export async function within<Value>(
  clock: Clock,
  milliseconds: number,
  promise: Promise<Value>,
): Promise<{ readonly value: Value } | undefined> {
  let cancel = () => {}
  const expired = new Promise<undefined>((resolve) => {
    cancel = clock.after(milliseconds, () => resolve(undefined))
  })
  try {
    return await Promise.race([promise.then((value) => ({ value })), expired])
  } finally {
    cancel()
  }
}

/**
 * Requests without following redirects: what is sent is for this address alone.
 * @throws ConnectionError when there is no answer, or a redirect for one
 */
export async function fetchDirectly(
  platform: Platform,
  url: URL,
  init: RequestInit & { readonly signal: AbortSignal },
) {
  const { signal } = init
  const answer = await orConnectionError(platform.fetch(url, { ...init, redirect: 'manual' }), signal)
  if (answer.type !== 'opaqueredirect' && (answer.status < 300 || answer.status > 399)) return answer
  void answer.body?.cancel().catch(() => {})
  throw new ConnectionError(`${url.origin} answered with a redirect; name the address that answers itself`, {
    code: 'redirected',
  })
}

/** Reads the whole text of an answer. @throws ConnectionError when it breaks off */
export function readText(answer: Response, signal: AbortSignal): Promise<string> {
  return orConnectionError(answer.text(), signal)
}

/** The outcome of a promise; a failure that no signal caused is a {@link ConnectionError}. */
export async function orConnectionError<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  try {
    return await untilAborted(promise, signal)
  } catch (cause) {
    if (signal.aborted) throw signal.reason
    const detail = cause instanceof Error ? `: ${cause.message}` : ''
    throw new ConnectionError(`the connection failed${detail}`, { code: 'connection_failed', retryable: true, cause })
  }
}

/** Calls back when a signal is aborted, at once if it is; answers how to stop. */
function follow(signal: AbortSignal | undefined, callback: () => void): () => void {
  if (signal?.aborted) callback()
  signal?.addEventListener('abort', callback, { once: true })
  return () => signal?.removeEventListener('abort', callback)
}
