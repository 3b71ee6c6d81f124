import { Problem } from '@gatehouse/kit'
import { TemplateError } from '../../templates/template.ts'

/** Runs `work` on a template. @throws Problem 422 that names the template's faults and where they are */
export function orTemplateProblem<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error
    const { faults } = error
    throw new Problem(422, `The template can't be used: ${error.message}.`, {
      ...(faults.length > 0
        ? {
            errors: faults.map(({ part, message }) => ({ pointer: `/${part}`, detail: message })),
            members: { faults },
          }
        : {}),
    })
  }
}
