import type { InputOf } from '../../../../actions/index.ts'

/** What is asked: an event for a user. */
export type Question = InputOf<'explain'>
