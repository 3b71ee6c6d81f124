/** The plan that isn't limited: for the platform's own services. A tier can't have this name. */
export const unlimitedPlan = 'unlimited'

/** Looks up a subject's plan: `undefined` when the subject is not known. */
export type PlanOf = (subject: string) => Promise<{ readonly plan: string } | undefined>
