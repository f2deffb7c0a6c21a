// Lints the sources of both TypeScript packages, with types.

import tseslint from "typescript-eslint";

/** The rules for the sources of the package in this folder. */
export function lint(folder) {
  return tseslint.config({
    files: ["ts/**/*.ts"],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: folder } },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      // A name that says so takes what is to be left out of the rest.
      "@typescript-eslint/no-unused-vars": ["error", { varsIgnorePattern: "^_", argsIgnorePattern: "^_" }],
      // `void (await …)` makes an answer nothing, on purpose.
      "@typescript-eslint/no-meaningless-void-operator": "off",
      // JavaScript's callers pass what the types do not allow, and are told so by name.
      "@typescript-eslint/no-unnecessary-condition": "off",
    },
  });
}

export default lint(import.meta.dirname);
