import { useEffect, useRef, useState } from 'react'
import { beforeLeaving, beforeUnload } from '../api/leaving.ts'
import { useSession } from '../api/session.tsx'
import { type KeptForm, keepForm, takeForm } from './kept.ts'

/** What was typed under a name before the person went to sign in. A second read finds nothing. */
export function useKept<Values extends object>(name: string): KeptForm<Partial<Values>> | undefined {
  const { user } = useSession()
  const [kept] = useState(() => takeForm<Values>({ storage: sessionStorage, name, user }, Date.now()))
  return kept
}

/** What is kept of a form, and when. */
export interface Keeping<Values> {
  /** Fields that are never kept. */
  readonly secret?: readonly (keyof Values)[]
  /** Whether it outlasts a reload too. Only for what asks nobody before it is left. Default false. */
  readonly overReload?: boolean
}

/** Keeps what was typed when the browser leaves for the sign-in; `typed` is undefined where nothing was. */
export function useKeeping<Values extends object>(
  name: string,
  typed: () => KeptForm<Values> | undefined,
  { secret = [], overReload = false }: Keeping<Values> = {},
): void {
  const { user } = useSession()
  const keep = useRef(() => {})
  useEffect(() => {
    keep.current = () => {
      const form = typed()
      if (form !== undefined) keepForm({ storage: sessionStorage, name, user }, form, { now: Date.now(), secret })
    }
  })
  useEffect(() => beforeLeaving(() => keep.current()), [])
  useEffect(() => (overReload ? beforeUnload(() => keep.current()) : undefined), [overReload])
}

/** Whether two forms have the same values. */
export function isSameForm(one: object, other: object): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
