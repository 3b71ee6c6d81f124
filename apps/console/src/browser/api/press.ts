import { useState } from 'react'

/** A second press comes so soon after the answer to the first that it is still the same double click. In milliseconds. */
const doubleClickMs = 500

/** Makes a call for an input. */
type Press<Input, Output> = (input: Input, make: () => Promise<Output>) => Promise<Output>

/**
 * Makes each call of two presses once: the second press of the same while the first is under way, or within a double
 * click of its answer, gets the answer of the first. A call that failed may be made again at once.
 *
 * @param now milliseconds that never go back
 */
export function onePress<Input, Output>(now: () => number = () => performance.now()): Press<Input, Output> {
  let last: { readonly key: string; readonly answer: Promise<Output>; endedAt?: number } | undefined
  return (input, make) => {
    const key = JSON.stringify(input) ?? ''
    if (last?.key === key && now() - (last.endedAt ?? now()) <= doubleClickMs) return last.answer
    const own: NonNullable<typeof last> = { key, answer: make() }
    last = own
    own.answer.then(
      () => {
        own.endedAt = now()
      },
      () => {
        if (last === own) last = undefined
      },
    )
    return own.answer
  }
}

/** {@link onePress} of a component, for as long as it is shown. */
export function useOnePress<Input, Output>(): Press<Input, Output> {
  return useState(() => onePress<Input, Output>())[0]
}
