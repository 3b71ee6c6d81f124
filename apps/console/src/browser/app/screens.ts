import type { ComponentType } from 'react'

/** Screens by their path, each loaded when it is opened. */
export type Screens = Readonly<Record<string, () => Promise<ComponentType>>>
