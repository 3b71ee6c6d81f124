import { useState } from 'react'
import { isSameForm, type Keeping, useKeeping, useKept } from './keeping.ts'

/**
 * What was typed, how to change it, and what to call once it was sent: it is not kept any more. What is changed then was
 * not typed.
 */
export type KeptState<Values extends object> = readonly [
  values: Values,
  change: (changed: Partial<Values>) => void,
  finish: (changed?: Partial<Values>) => void,
]

/**
 * The state of a form, or of a dialog with its `open`. What differs from how it began, and was not sent, is there again
 * after a sign-in that an action of the page required; `name` says of what it is the form.
 */
export function useKeptState<Values extends object>(
  name: string,
  initial: Values,
  keeping?: Keeping<Values>,
): KeptState<Values> {
  const kept = useKept<Values>(name)
  const [begun] = useState(initial)
  const [values, setValues] = useState<Values>({ ...begun, ...kept?.values })
  const [sent, setSent] = useState(begun)
  useKeeping(name, () => (isSameForm(values, begun) || isSameForm(values, sent) ? undefined : { values }), keeping)
  const change = (changed: Partial<Values>) => setValues((before) => ({ ...before, ...changed }))
  const finish = (changed: Partial<Values> = {}) => {
    setSent({ ...values, ...changed })
    change(changed)
  }
  return [values, change, finish]
}

/**
 * The entity tag with which a form is saved: that of what it was made from, `kept`, also when something else is stored by
 * now. A form of something that was not there yet (empty) is refused when it is.
 */
export function tagOfKept(kept: string, stored: string | undefined): string | undefined {
  if (kept !== '') return kept
  return stored === undefined ? undefined : '"not there yet"'
}
